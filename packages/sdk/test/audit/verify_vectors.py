"""Runs the reference verifier on many questions in one process, which costs less than a process for each.

python3 -I verify_vectors.py <verify_proof.py>, with a JSON object on the standard input: questions (each an RPC URL and the
verifier's arguments), payloads (texts that may be merged ones), derivations. It prints what the verifier makes of each.
"""

import contextlib, io, json, os, runpy, sys

PROGRAM = sys.argv[1]
verifier = runpy.run_path(PROGRAM, run_name="verifier")


def ask(rpc_url, arguments):
    os.environ["SOLANA_RPC_URL"] = rpc_url
    sys.argv = [PROGRAM, *arguments]
    stdout, code = io.StringIO(), 0
    with contextlib.redirect_stdout(stdout):
        try:
            runpy.run_path(PROGRAM, run_name="__main__")
        except SystemExit as end:
            # A text is printed to the standard error and means 1.
            code = end.code if isinstance(end.code, int) else 1
    return {"code": code, "stdout": stdout.getvalue()}


def derive(createKey, program, index, position, **_):
    owner, key = verifier["decode_base58"](program), verifier["decode_base58"](createKey)
    address = lambda *seeds: verifier["encode_base58"](verifier["derive"]([b"multisig", *seeds], owner))
    multisig = address(b"multisig", key)
    seeds = [verifier["decode_base58"](multisig), b"transaction", index.to_bytes(8, "little")]
    return {
        "multisig": multisig,
        "vault": verifier["vault_of"](multisig),
        "transaction": address(*seeds),
        "proposal": address(*seeds, b"proposal"),
        "batchTransaction": address(*seeds, b"batch_transaction", position.to_bytes(4, "little")),
    }


given = json.load(sys.stdin)
print(
    json.dumps(
        {
            "answers": [ask(*question) for question in given["questions"]],
            "mergedEvents": [verifier["merged_events"](payload) for payload in given["payloads"]],
            "derived": [derive(**derivation) for derivation in given["derivations"]],
        }
    )
)
