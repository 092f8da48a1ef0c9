"""docs/client.py at work on a sandbox: its setting comes as JSON in SETTING. Prints one JSON object with what it saw."""

import hashlib
import hmac
import json
import os
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, HTTPServer

sys.path.insert(0, sys.argv[1])
from client import Gateway, GatewayError, device_hash, receive, to_units  # noqa: E402
from stellar_sdk import Keypair, MuxedAccount, TransactionEnvelope  # noqa: E402

setting = json.loads(os.environ["SETTING"])
asset, network = setting["asset"], setting["network"]
keys = {name: Keypair.from_secret(account["secret"]) for name, account in setting["accounts"].items()}
gateway = Gateway(setting["gateway"], setting["apiKey"], network)
card, agent, merchant = device_hash(b"python1"), keys["agent"].public_key, keys["merchant"].public_key

seen = []
latest = gateway.request("GET", "/v1/events?limit=1")["latestLedger"]


def watch():
    for event, _cursor in gateway.events(fromLedger=latest + 1, deviceHash=card):
        seen.append(event["type"])
        if len(seen) == 4:
            return


watching = threading.Thread(target=watch, daemon=True)
watching.start()
payment = {"kind": "authorize", "deviceHash": card, "merchant": merchant, "asset": asset, "amount": to_units("4.5")}
ledgers = [
    gateway.write({"kind": "registerDevice", "deviceHash": card, "agent": agent}, keys["owner"]),
    gateway.write({"kind": "registerAgent", "deviceHash": card, "agent": agent, "asset": asset, "maxAmount": "0"}, keys["owner"]),
    gateway.write({"kind": "fundEscrow", "deviceHash": card, "asset": asset, "amount": to_units("10")}, keys["owner"]),
    gateway.write(payment, keys["agent"]),
    gateway.write({"kind": "claim", "asset": asset}, keys["merchant"]),
    gateway.write({"kind": "defundEscrow", "deviceHash": card, "asset": asset, "amount": "1"}, keys["owner"]),
    gateway.write({"kind": "revokeAgent", "deviceHash": card}, keys["owner"]),
    gateway.write({"kind": "sweepEscrow", "deviceHash": card, "asset": asset, "agent": agent}, keys["owner"]),
    gateway.write({"kind": "revokeDevice", "deviceHash": card}, keys["owner"]),
]
watching.join(30)


def refusal(act):
    try:
        act()
        return "done"
    except GatewayError as error:
        return error.reason


class Compromised(Gateway):
    """Prepares something else than what was asked for."""

    def __init__(self, change):
        super().__init__(setting["gateway"], setting["apiKey"], network)
        self.change = change

    def request(self, method, path, body=None, headers={}):
        if path.endswith("/prepare"):
            return self.change(body, lambda asked: Gateway.request(self, method, path, asked, headers))
        assert not path.endswith("/submit"), "something was signed"
        return Gateway.request(self, method, path, body, headers)


other = device_hash(b"python2")
Gateway.write(gateway, {"kind": "registerDevice", "deviceHash": other, "agent": agent}, keys["owner"])
fund = {"kind": "fundEscrow", "deviceHash": other, "asset": asset, "amount": "5"}


def tampered(change):
    def bent(asked, prepare):
        prepared = prepare(asked)
        envelope = TransactionEnvelope.from_xdr(prepared["xdr"], network["networkPassphrase"])
        change(envelope.transaction)
        return {**prepared, "xdr": envelope.to_xdr()}

    return bent


def later(transaction):
    transaction.preconditions.time_bounds.max_time += 4_000


bends = [
    lambda asked, prepare: prepare({**asked, "operation": {**fund, "amount": "500"}}),
    lambda asked, prepare: prepare({**asked, "operation": {"kind": "revokeDevice", "deviceHash": other}}),
    lambda asked, prepare: {"xdr": "AAAA", "operation": {}},
    tampered(lambda transaction: setattr(transaction, "fee", 20_000_000)),
    tampered(later),
    tampered(lambda transaction: transaction.operations.append(transaction.operations[0])),
    tampered(lambda transaction: setattr(transaction, "source", MuxedAccount(agent))),
    tampered(lambda transaction: transaction.operations[0].auth[0].root_invocation.sub_invocations.clear()),
]
refusals = [refusal(lambda: Compromised(bend).write(fund, keys["owner"])) for bend in bends]
elsewhere = {**network, "contracts": {**network["contracts"], "paymentEscrow": network["contracts"]["agentRegistry"]}}
refusals.append(refusal(lambda: Gateway(setting["gateway"], setting["apiKey"], elsewhere).write(fund, keys["owner"])))


class Busy(BaseHTTPRequestHandler):
    """A proxy that says when to come again as a date, as HTTP lets it."""

    def do_GET(self):
        self.send_response(503)
        self.send_header("Retry-After", "Wed, 21 Oct 2015 07:28:00 GMT")
        self.end_headers()

    def log_message(self, *_):
        pass


busy = HTTPServer(("127.0.0.1", 0), Busy)
threading.Thread(target=busy.serve_forever, daemon=True).start()

held = [event["type"] for event, _cursor in gateway.events(live=False, fromLedger=latest + 1, deviceHash=card)]
secret, body, at = "whsec_" + "a" * 43 + "=", b'{"subscription":"wh_1","event":{"type":"payment.claimed"}}', str(int(time.time()))
mac = hmac.new(secret.encode(), f"{at}.".encode() + body, hashlib.sha256).hexdigest()
print(json.dumps({
    "writes": sum(1 for one in ledgers if one["ledger"] > 0 and len(one["hash"]) == 64),
    "seen": seen,
    "held": held,
    "refusals": refusals,
    "received": receive(body, f"t={at},v1={mac}", secret),
    "forged": [receive(body, f"t={at},v1={'0' * 64}", secret), receive(body, f"t=1,v1={mac}", secret), receive(body, "", secret)],
    "stranger": refusal(lambda: Gateway(setting["gateway"], "service_sk_x").request("GET", "/v1/network")),
    "away": refusal(lambda: Gateway("http://127.0.0.1:1", "x", patience=0).request("GET", "/v1/network")),
    "busy": refusal(lambda: Gateway(f"http://127.0.0.1:{busy.server_port}", "x", patience=0).request("GET", "/v1/network")),
    "refused": refusal(lambda: gateway.write({**payment, "deviceHash": other}, keys["agent"])),
    "units": [to_units("4.5"), to_units("10"), to_units("0.0000001")],
}))
