"""Approves a batch with a key that only Python holds. It shows what the chain would execute, and signs after a yes.

FLYWHEEL_API_KEY=… python3 examples/approve.py <batch id> <keypair file> <vault address>

The exit code is 0 only if the batch is executed.

It needs `solders` (pip install solders) and nothing of Flywheel. It believes no text of the service: accounts are derived
from the vault that you pass, and every instruction is read from the chain.
"""

import base64, hashlib, json, os, sys, time, urllib.error, urllib.parse, urllib.request

from solders.keypair import Keypair
from solders.message import to_bytes_versioned
from solders.pubkey import Pubkey
from solders.token.associated import get_associated_token_address
from solders.transaction import VersionedTransaction

URL = os.environ.get("FLYWHEEL_URL", "http://127.0.0.1:4000").rstrip("/")
RPC_URL = os.environ.get("SOLANA_RPC_URL", "http://127.0.0.1:8899").split(",")[0]
API_KEY = {"x-service-api-key": os.environ["FLYWHEEL_API_KEY"]}

SQUADS = Pubkey.from_string("SQDS4ep65T869zMMBKyuUq6aD6EgTu8psMjkvj52pCf")
SYSTEM = Pubkey.from_string("11111111111111111111111111111111")
COMPUTE_BUDGET = Pubkey.from_string("ComputeBudget111111111111111111111111111111")
MEMO = Pubkey.from_string("MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr")
ASSOCIATED_TOKEN = Pubkey.from_string("ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL")
TOKEN_PROGRAMS = {
    Pubkey.from_string("TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA"),
    Pubkey.from_string("TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb"),
}
NONCE_ADVANCE = (4).to_bytes(4, "little")
PROPOSAL_APPROVE = hashlib.sha256(b"global:proposal_approve").digest()[:8] + b"\0"  # without a memo
ACTIVE = 1


def main(batch_id: str, keypair_file: str, vault_text: str) -> None:
    wallet, vault = Keypair.from_json(open(keypair_file).read()), Pubkey.from_string(vault_text)
    wire = await_approval(batch_id)
    transaction = VersionedTransaction.from_bytes(base64.b64decode(wire))
    multisig, proposal = check_approval(transaction.message, wallet.pubkey(), vault)
    transactions = read_batch(multisig, proposal)
    for position, instructions in enumerate(transactions):
        print(f"Pipeline {position}")
        for line in describe(instructions, vault):
            print(f"  {line}")
    if input("Approve this batch? [y/N] ") != "y":
        sys.exit("Not signed.")
    execute(batch_id, sign(transaction, wallet))


def check_approval(message, wallet: Pubkey, vault: Pubkey) -> tuple[Pubkey, Pubkey]:
    """Requires an approval and nothing else, of a multisig with this vault. Returns multisig and proposal."""
    keys, votes = message.account_keys, []
    require(not getattr(message, "address_table_lookups", []), "it uses lookup tables")
    require(keys[0] != wallet, "the wallet would pay its fee")
    for index, instruction in enumerate(message.instructions):
        program, data = keys[instruction.program_id_index], bytes(instruction.data)
        accounts = [keys[i] for i in instruction.accounts]
        if program == COMPUTE_BUDGET:
            continue
        if program == SYSTEM and data == NONCE_ADVANCE and index == 0 and wallet not in accounts:
            continue
        require(program == SQUADS and data == PROPOSAL_APPROVE, f"instruction {index} is no vote")
        votes.append(accounts)
    require(len(votes) == 2 and wallet in (votes[0][1], votes[1][1]), "it is not the vote of two, and yours")
    multisig, _, proposal = votes[0]
    require((votes[1][0], votes[1][2]) == (multisig, proposal), "it votes on two proposals")
    require(derive(bytes(multisig), b"vault", b"\0") == vault, "its multisig has another vault")
    return multisig, proposal


def read_batch(multisig: Pubkey, proposal: Pubkey) -> list[list[tuple]]:
    """Reads from the chain what the proposal would execute: for each pipeline its instructions, accounts resolved."""
    content = Reader(account(proposal), "account:Proposal")
    found, index, status = content.key(), content.number(8), content.number(1)
    require(found == multisig and status == ACTIVE, "the proposal cannot be approved now")
    seeds = [bytes(multisig), b"transaction", index.to_bytes(8, "little")]
    require(derive(*seeds, b"proposal") == proposal, "the proposal has another address")
    batch = Reader(account(derive(*seeds)), "account:Batch")
    batch.take(32 + 32 + 8 + 1)
    vault_index, _, size = batch.number(1), batch.number(1), batch.number(4)
    require(vault_index == 0, "the batch acts for another vault")
    addresses = [derive(*seeds, b"batch_transaction", (i + 1).to_bytes(4, "little")) for i in range(size)]
    return [read_instructions(data) for data in accounts_of(addresses)]


def read_instructions(data: bytes) -> list[tuple]:
    stored = Reader(data, "account:VaultBatchTransaction")
    stored.take(1)
    require(stored.number(4) == 0, "a pipeline has signers of its own")
    stored.take(3)
    keys = [stored.key() for _ in range(stored.number(4))]
    instructions = [
        (stored.number(1), stored.take(stored.number(4)), stored.take(stored.number(4))) for _ in range(stored.number(4))
    ]
    lookups = [(stored.key(), stored.take(stored.number(4)), stored.take(stored.number(4))) for _ in range(stored.number(4))]
    tables = [account(table)[56:] for table, _, _ in lookups]
    for role in (1, 2):
        for lookup, table in zip(lookups, tables):
            keys += [Pubkey.from_bytes(table[32 * i : 32 * i + 32]) for i in lookup[role]]
    return [(keys[program], [keys[i] for i in indexes], bytes(data)) for program, indexes, data in instructions]


def describe(instructions: list[tuple], vault: Pubkey):
    """Yields a line for each instruction, in base units. What is not known is shown as bytes: do not sign it."""
    owners = {}
    for program, accounts, data in instructions:
        amount = int.from_bytes(data[1:9], "little")
        if program == MEMO:
            # Quoted, because its characters could move the cursor and write over other lines.
            yield f"memo      {data.decode()!r}"
        elif program == ASSOCIATED_TOKEN and data == b"\x01":
            _, token_account, owner, mint, _, token_program = accounts
            require(get_associated_token_address(owner, mint, token_program) == token_account, "an account is not its owner's")
            owners[token_account] = owner
            yield f"create    the token account of {owner}, unless it exists"
        elif program in TOKEN_PROGRAMS and data[0] in (8, 15) and accounts[2] == vault:
            yield f"burn      {amount} of {accounts[1]}"
        elif program in TOKEN_PROGRAMS and data[0] == 12 and accounts[3] == vault:
            yield f"transfer  {amount} of {accounts[1]} to {owners.get(accounts[2], accounts[2])}"
        else:
            yield f"UNKNOWN   {program} {data.hex()} {[str(each) for each in accounts]}"


def sign(transaction: VersionedTransaction, wallet: Keypair) -> str:
    """Adds the wallet's signature and leaves the places of the operator and the company empty."""
    message, signatures = transaction.message, list(transaction.signatures)
    signatures[list(message.account_keys).index(wallet.pubkey())] = wallet.sign_message(to_bytes_versioned(message))
    return base64.b64encode(bytes(VersionedTransaction.populate(message, signatures))).decode()


class Reader:
    """Reads an Anchor account field by field. @raises SystemExit if it is of another kind."""

    def __init__(self, data: bytes, kind: str) -> None:
        require(data[:8] == hashlib.sha256(kind.encode()).digest()[:8], f"an {kind} is something else")
        self.rest = data[8:]

    def take(self, size: int) -> bytes:
        taken, self.rest = self.rest[:size], self.rest[size:]
        return taken

    def number(self, size: int) -> int:
        return int.from_bytes(self.take(size), "little")

    def key(self) -> Pubkey:
        return Pubkey.from_bytes(self.take(32))


def derive(*seeds: bytes) -> Pubkey:
    return Pubkey.find_program_address([b"multisig", *seeds], SQUADS)[0]


def account(address: Pubkey) -> bytes:
    return accounts_of([address])[0]


def accounts_of(addresses: list[Pubkey]) -> list[bytes]:
    """Reads the bytes of accounts, a hundred at a time."""
    found = []
    for start in range(0, len(addresses), 100):
        names = [str(address) for address in addresses[start : start + 100]]
        config = {"encoding": "base64", "commitment": "confirmed"}
        body = {"jsonrpc": "2.0", "id": 1, "method": "getMultipleAccounts", "params": [names, config]}
        answer = fetch(RPC_URL, body)
        require("result" in answer and None not in answer["result"]["value"], "the node does not have the batch")
        found += [base64.b64decode(each["data"][0]) for each in answer["result"]["value"]]
    return found


def await_approval(batch_id: str) -> str:
    """Waits until the batch is on chain. Its approval stays valid for days."""
    while True:
        batch = call(f"/batch/{batch_id}?include=approval")
        if batch["status"] == "FINALIZED":
            return batch["proposalApproveTx"]
        require(batch["status"] == "AVAILABLE_TO_QUEUE", f"the batch is {batch['status']}")
        time.sleep(0.5)


def execute(batch_id: str, signed: str) -> None:
    """Executes the batch to its end. The request is sent again until then, which executes nothing twice."""
    while True:
        status = call("/batch/execute", {"batchId": batch_id, "signedTx": signed})["status"]
        print(f"\nBatch {batch_id} is {status}.")
        if status == "EXECUTED":
            return
        if status == "FAILED":
            sys.exit(1)
        time.sleep(10)


def call(path: str, body: dict | None = None) -> dict:
    return fetch(f"{URL}/v1/flywheel{path}", body, API_KEY)


def fetch(url: str, body: dict | None = None, headers: dict = {}) -> dict:
    headers = {"content-type": "application/json", **headers}
    request = urllib.request.Request(url, body and json.dumps(body).encode(), headers)
    try:
        with urllib.request.urlopen(request) as response:
            return json.load(response)
    except urllib.error.HTTPError as error:
        sys.exit(f"{urllib.parse.urlsplit(url).path} answered {error.code}: {error.read().decode()}")


def require(holds: bool, otherwise: str) -> None:
    if not holds:
        sys.exit(f"Not signed: {otherwise}.")


if __name__ == "__main__":
    main(*sys.argv[1:])
