"""The Python SDK on the sandbox: it funds, trusts, pays, calls an asset's contract and reads the event.

Arguments: the RPC's URL and the network's passphrase. Prints the results as one JSON object.
"""

import json
import sys
import time
import urllib.request

from stellar_sdk import Asset, Keypair, SorobanServer, TransactionBuilder, scval
from stellar_sdk import xdr as stellar_xdr
from stellar_sdk.soroban_rpc import EventFilter, EventFilterType, GetTransactionStatus, SendTransactionStatus

RPC, PASSPHRASE = sys.argv[1:3]
server = SorobanServer(RPC)


def funded():
    keypair = Keypair.random()
    with urllib.request.urlopen(f"{RPC}/friendbot?addr={keypair.public_key}") as answer:
        assert answer.status == 200
    return keypair


def build(source, *add):
    builder = TransactionBuilder(server.load_account(source.public_key), PASSPHRASE, base_fee=1000)
    for operation in add:
        operation(builder)
    return builder.set_timeout(60).build()


def send(envelope, *signers):
    for signer in signers:
        envelope.sign(signer)
    sent = server.send_transaction(envelope)
    assert sent.status == SendTransactionStatus.PENDING, sent
    for _ in range(200):
        got = server.get_transaction(sent.hash)
        if got.status != GetTransactionStatus.NOT_FOUND:
            assert got.status == GetTransactionStatus.SUCCESS, got
            return got
        time.sleep(0.1)
    raise AssertionError(f"{sent.hash} was never closed over")


issuer, alice, bob = funded(), funded(), funded()
usd = Asset("USD", issuer.public_key)
contract = usd.contract_id(PASSPHRASE)

for holder in (alice, bob):
    send(build(holder, lambda b: b.append_change_trust_op(usd)), holder)
send(build(issuer, lambda b: b.append_payment_op(alice.public_key, usd, "100")), issuer)
send(server.prepare_transaction(build(issuer, lambda b: b.append_create_stellar_asset_contract_from_asset_op(usd))), issuer)

transfer = [scval.to_address(alice.public_key), scval.to_address(bob.public_key), scval.to_int128(300_000_000)]
prepared = server.prepare_transaction(
    build(alice, lambda b: b.append_invoke_contract_function_op(contract, "transfer", transfer))
)
transferred = send(prepared, alice)

balance = build(bob, lambda b: b.append_invoke_contract_function_op(contract, "balance", [scval.to_address(bob.public_key)]))
simulated = server.simulate_transaction(balance)
held = scval.from_int128(stellar_xdr.SCVal.from_xdr(simulated.results[0].xdr))

events = server.get_events(
    start_ledger=transferred.ledger,
    filters=[EventFilter(event_type=EventFilterType.CONTRACT, contract_ids=[contract])],
    limit=10,
).events
topics = [scval.to_native(topic) for topic in events[0].topic]

print(
    json.dumps(
        {
            "passphrase": server.get_network().passphrase,
            "held": held,
            "transfer": [topics[0], topics[1].address, topics[2].address],
            "people": [alice.public_key, bob.public_key],
            "isOfThisTransaction": events[0].transaction_hash == prepared.hash_hex(),
        }
    )
)
