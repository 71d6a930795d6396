"""Verifies on chain that a project processed an event, with Python's standard library alone (3.9 or later).

python3 examples/verify_proof.py <signature> <vault address> <type> <payload> [<merged payload>]

The merged payload, as the project publishes it, is for an event that was paid together with others. The program
implements docs/proof-format.md from the text, without any code of Flywheel, and asks no service: SOLANA_RPC_URL names the
Solana node. The exit code is 0 if the event is proven, 1 if it is not, and 2 if the node gives no answer or only a part.
"""

import hashlib, http.client, json, os, re, sys, urllib.request

RPC_URL = os.environ.get("SOLANA_RPC_URL", "http://127.0.0.1:8899").split(",")[0]
ALPHABET = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
SQUADS = "SQDS4ep65T869zMMBKyuUq6aD6EgTu8psMjkvj52pCf"
MEMO = "MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr"
EXECUTE = hashlib.sha256(b"global:batch_execute_transaction").digest()[:8]
PROOF = re.compile(r"flywheel:v1:(.+):([0-9a-f]{64})", re.DOTALL)
MERGED = re.compile(r'\{"flywheel":"merged:v1","events":\[("[0-9a-f]{64}"(?:,"[0-9a-f]{64}"){1,899})\]\}')
VAULT_INDEX = 0


def main(signature, vault, event_type, payload, merged=None):
    wanted = f"flywheel:v1:{event_type}:{hash_of(event_type, payload if merged is None else merged)}"
    is_listed = merged is None or hash_of(event_type, payload) in merged_events(merged)
    config = {"encoding": "json", "commitment": "confirmed", "maxSupportedTransactionVersion": 1}
    transaction = ask("getTransaction", [signature, config])
    if transaction is None:
        sys.exit("Not proven: the node does not know the transaction.")
    try:
        proofs = read_proofs(transaction, signature, vault)
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        fail(f"The node answered no transaction: {error!r}.")
    for proof in proofs:
        print("proven" if is_listed and proof == wanted else "other ", json.dumps(proof))
    if not is_listed:
        sys.exit("Not proven: the text is not a merged payload, or does not list this event.")
    if wanted not in proofs:
        sys.exit(f"Not proven: none of the {len(proofs)} proofs of this vault in the transaction is {wanted}.")


def read_proofs(transaction, signature, vault):
    """Lists the proofs of a vault in a transaction, which has to be the asked one, recorded in full, and not failed."""
    meta = transaction["meta"] or {}
    if transaction["transaction"]["signatures"][0] != signature:
        fail("The node answered with another transaction.")
    if meta.get("err") is not None:
        sys.exit(f"Not proven: the transaction failed: {json.dumps(meta['err'])}.")
    if meta.get("innerInstructions") is None:
        fail("The node has not recorded what the transaction called. Ask another one.")
    return list(find_proofs(transaction, vault))


def hash_of(event_type, payload):
    return hashlib.sha256(event_type.encode() + b"\0" + payload.encode()).hexdigest()


def merged_events(payload):
    """Lists the hashes of the events that a merged payload pays for; none if it is an ordinary payload."""
    merged = MERGED.fullmatch(payload)
    hashes = merged[1].replace('"', "").split(",") if merged else []
    return hashes if hashes == sorted(set(hashes)) else []


def find_proofs(transaction, vault):
    """Yields the proofs of a vault: each the first instruction that an execution calls, signed by the vault alone."""
    message, meta = transaction["transaction"]["message"], transaction["meta"]
    loaded = meta.get("loadedAddresses") or {"writable": [], "readonly": []}
    accounts = message["accountKeys"] + loaded["writable"] + loaded["readonly"]
    called = {group["index"]: group["instructions"] for group in meta["innerInstructions"]}
    for index, instruction in enumerate(message["instructions"]):
        if accounts[instruction["programIdIndex"]] != SQUADS or len(instruction["accounts"]) < 5:
            continue
        if decode_base58(instruction["data"])[:8] != EXECUTE or not called.get(index):
            continue
        multisig, first = accounts[instruction["accounts"][0]], called[index][0]
        if accounts[first["programIdIndex"]] != MEMO or [accounts[each] for each in first["accounts"]] != [vault]:
            continue
        try:
            text = decode_base58(first["data"]).decode("utf-8")
        except UnicodeDecodeError:
            continue
        if PROOF.fullmatch(text) and vault_of(multisig) == vault:
            yield text


def vault_of(multisig):
    seeds = [b"multisig", decode_base58(multisig), b"vault", bytes([VAULT_INDEX])]
    return encode_base58(derive(seeds, decode_base58(SQUADS)))


def derive(seeds, program):
    """Finds a program-derived address: the first hash, from bump 255 down, that is no point of the curve."""
    for bump in range(255, -1, -1):
        found = hashlib.sha256(b"".join(seeds) + bytes([bump]) + program + b"ProgramDerivedAddress").digest()
        if not is_on_curve(found):
            return found
    raise ValueError("no bump takes these seeds off the curve")


def is_on_curve(encoded):
    """Checks whether 32 bytes are a point of Ed25519: -x^2 + y^2 = 1 + d x^2 y^2 must have a solution for x (RFC 8032, 5.1.3)."""
    prime = 2**255 - 19
    d = -121665 * pow(121666, -1, prime) % prime
    # curve25519-dalek, which Solana uses, takes y modulo the prime and accepts either sign of x = 0.
    y = (int.from_bytes(encoded, "little") & (2**255 - 1)) % prime
    square = (y * y - 1) * pow(d * y * y + 1, -1, prime) % prime
    return square == 0 or pow(square, (prime - 1) // 2, prime) == 1


def decode_base58(text):
    number = 0
    for character in text:
        number = number * 58 + ALPHABET.index(character)
    zeros = len(text) - len(text.lstrip("1"))
    return bytes(zeros) + number.to_bytes((number.bit_length() + 7) // 8, "big")


def encode_base58(data):
    number, text = int.from_bytes(data, "big"), ""
    while number:
        number, digit = divmod(number, 58)
        text = ALPHABET[digit] + text
    return "1" * (len(data) - len(data.lstrip(b"\0"))) + text


def ask(method, params):
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()
    request = urllib.request.Request(RPC_URL, body, {"content-type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=20) as response:
            answer = json.load(response)
    except (OSError, http.client.HTTPException, ValueError) as error:
        fail(f"{method}: {error}")
    if not isinstance(answer, dict) or answer.get("error") or "result" not in answer:
        fail(f"{method}: the node answered {json.dumps(answer)}")
    return answer["result"]


def fail(reason):
    print(reason, file=sys.stderr)
    sys.exit(2)


if __name__ == "__main__":
    if len(sys.argv) not in (5, 6):
        fail(__doc__)
    main(*sys.argv[1:])
