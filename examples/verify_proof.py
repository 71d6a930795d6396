"""Verifies on chain that a project processed an event, without any code of Flywheel and without its service.

python3 examples/verify_proof.py <signature> <vault address> <type> <payload>

It needs `solders` (pip install solders). The exit code is 0 if the event is proven, and 1 if it is not.
"""

import hashlib, json, os, sys, urllib.request

from solders.pubkey import Pubkey

RPC_URL = os.environ.get("SOLANA_RPC_URL", "http://127.0.0.1:8899").split(",")[0]
SQUADS = Pubkey.from_string("SQDS4ep65T869zMMBKyuUq6aD6EgTu8psMjkvj52pCf")
MEMO = Pubkey.from_string("MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr")
EXECUTE = hashlib.sha256(b"global:batch_execute_transaction").digest()[:8]


def main(signature: str, vault_text: str, event_type: str, payload: str) -> None:
    event_hash = hashlib.sha256(event_type.encode() + b"\0" + payload.encode()).hexdigest()
    wanted = f"flywheel:v1:{event_type}:{event_hash}"
    proofs = list(read_proofs(signature, Pubkey.from_string(vault_text)))
    for proof in proofs:
        print(f"{'✓' if proof == wanted else ' '} {proof}")
    if wanted not in proofs:
        sys.exit(f"Not proven: none of the {len(proofs)} proofs of this vault in the transaction is {wanted}.")
    print("Proven.")


def read_proofs(signature: str, vault: Pubkey):
    """Yields the proof memos of a vault: each the first instruction of an execution, signed by the vault alone."""
    config = {"encoding": "json", "commitment": "confirmed", "maxSupportedTransactionVersion": 1}
    found = ask("getTransaction", [signature, config])
    if found is None:
        sys.exit("Not proven: the node does not know the transaction.")
    meta = found["meta"]
    if meta["err"] is not None:
        sys.exit(f"Not proven: the transaction failed: {json.dumps(meta['err'])}.")
    message, loaded = found["transaction"]["message"], meta.get("loadedAddresses") or {"writable": [], "readonly": []}
    keys = [Pubkey.from_string(key) for key in message["accountKeys"] + loaded["writable"] + loaded["readonly"]]
    first_inner = {each["index"]: each["instructions"][0] for each in meta["innerInstructions"] if each["instructions"]}
    for index, instruction in enumerate(message["instructions"]):
        if keys[instruction["programIdIndex"]] != SQUADS or decode_base58(instruction["data"])[:8] != EXECUTE:
            continue
        multisig, inner = keys[instruction["accounts"][0]], first_inner.get(index)
        if inner is None or vault_of(multisig) != vault or keys[inner["programIdIndex"]] != MEMO:
            continue
        if [keys[account] for account in inner["accounts"]] == [vault]:
            yield decode_base58(inner["data"]).decode()


def vault_of(multisig: Pubkey) -> Pubkey:
    return Pubkey.find_program_address([b"multisig", bytes(multisig), b"vault", b"\0"], SQUADS)[0]


def decode_base58(text: str) -> bytes:
    number = 0
    for character in text:
        number = number * 58 + "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz".index(character)
    zeros = len(text) - len(text.lstrip("1"))
    return bytes(zeros) + number.to_bytes((number.bit_length() + 7) // 8, "big")


def ask(method: str, params: list):
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()
    request = urllib.request.Request(RPC_URL, body, {"content-type": "application/json"})
    with urllib.request.urlopen(request) as response:
        answer = json.load(response)
    if "error" in answer:
        sys.exit(f"{method}: {answer['error']['message']} ({answer['error']['code']})")
    return answer["result"]


if __name__ == "__main__":
    main(*sys.argv[1:])
