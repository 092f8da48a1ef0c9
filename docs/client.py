"""A client of the payment escrow gateway in Python: copy this file. Needs stellar-sdk (`pip install stellar-sdk`) to write.

    gateway = Gateway("https://gateway.example.com", API_KEY, network={"networkPassphrase": ..., "contracts": {...}})
    paid = gateway.write({"kind": "authorize", "deviceHash": card, "merchant": shop, "asset": asset,
                          "amount": to_units("4.5")}, Keypair.from_secret(secret))
    for event, cursor in gateway.events(types="payment.claimed"): ...

`network` comes from your own configuration, never from the gateway. `write` builds the envelope of your operation itself, and
signs only a prepared envelope that is equal byte for byte. It never pays twice. Failures raise `GatewayError`.
"""

import hashlib
import hmac
import json
import re
import time
import uuid
from fractions import Fraction
from http.client import HTTPException, InvalidURL
from urllib.error import HTTPError
from urllib.parse import urlencode, urlsplit
from urllib.request import ProxyHandler, Request, build_opener, urlopen


class GatewayError(Exception):
    """`reason` is the gateway's code, or unreachable, envelope_refused, outcome_unknown; `more` has further fields."""

    def __init__(self, reason, message, retry="never", **more):
        super().__init__(f"{reason}: {message}")
        self.reason, self.message, self.retry, self.more = reason, message, retry, more


class Gateway:
    def __init__(self, base_url, api_key, network=None, timeout=75, patience=60, max_fee=10_000_000, max_validity=600):
        self.base_url, self.api_key, self.network = base_url.rstrip("/"), api_key.strip(), network
        self.timeout, self.patience, self.max_fee, self.max_validity = timeout, patience, max_fee, max_validity

    def open(self, method, path, body=None, headers={}, timeout=None):
        headers = {"Content-Type": "application/json", **headers}
        try:
            request = Request(self.base_url + path, body and json.dumps(body).encode(), headers, method=method)
            request.add_unredirected_header("Authorization", f"Bearer {self.api_key}")
            url = urlsplit(self.base_url)
            if url.username is not None or url.query or url.fragment:
                raise GatewayError("invalid_request", "base_url must have no user, password, query or fragment")
            is_local = url.hostname in ("localhost", "127.0.0.1", "::1")  # No proxy leads there.
            send = build_opener(ProxyHandler({})).open if is_local else urlopen
            return send(request, timeout=timeout or self.timeout)
        except HTTPError as answer:
            try:
                error = dict(json.load(answer)["error"])
            except (OSError, HTTPException, ValueError, TypeError, KeyError):  # The answer does not come from a gateway.
                error = {}
            wait = int(seconds) if (seconds := answer.headers.get("Retry-After", "")).isdecimal() else 0
            retry = error.pop("retry", "same" if answer.code == 429 or answer.code >= 500 else "never")
            reason, message = error.pop("code", "not_a_gateway"), error.pop("message", f"HTTP {answer.code}")
            raise GatewayError(reason, message, retry, status=answer.code, wait=wait, error=error)
        except (ValueError, InvalidURL):  # The exception's message may hold the key.
            raise GatewayError("invalid_request", "URL, API key or Idempotency-Key cannot be sent") from None
        except (OSError, HTTPException) as problem:
            raise GatewayError("unreachable", str(problem), "same" if self.base_url.lower().startswith("http") else "never")

    def request(self, method, path, body=None, headers={}):
        """Calls any endpoint: `request("GET", "/v1/devices/9a41…")`. Retries for a minute where a retry may succeed."""
        # With a key, a retry creates no second webhook or replay.
        once = {"Idempotency-Key": str(uuid.uuid4())} if method == "POST" and path.startswith("/v1/webhooks") else {}
        until, pause = time.monotonic() + self.patience, 0.25
        while True:
            try:
                with self.open(method, path, body, {**once, **headers}) as answer:
                    return json.load(answer)
            except (OSError, HTTPException, ValueError, GatewayError) as problem:
                error = problem if isinstance(problem, GatewayError) else GatewayError("unreachable", str(problem), "same")
            wait = error.more.get("wait") or (pause := min(5, pause * 2))
            if error.retry != "same" or time.monotonic() + wait > until:
                raise error
            time.sleep(wait)

    def reconciliation(self):
        """The last comparison of the log with the contracts; raises not_found before the first one."""
        return self.request("GET", "/v1/reconciliation")

    def events(self, cursor=None, live=True, on_gap=None, **query):
        """Yields (event, cursor) of the history and then of new events, each event once. Filters as for GET /v1/events.
        Calls `on_gap` with the gateway's notice where events may be missing."""
        pause = 0.5
        while True:
            start = {**query, "cursor": cursor, "fromLedger": None} if cursor else query
            for frame in self._frames(urlencode([pair for pair in start.items() if pair[1] is not None])):
                name, data, pause, cursor = frame.get("event"), frame.get("data"), 0.5, frame.get("id", cursor)
                if name == "revoked":
                    raise GatewayError("unauthorized", f"the API key is no longer valid: {data}")
                if name == "caught_up" and not live:
                    return
                if name == "gap" and on_gap:
                    on_gap(json.loads(data))
                if name is None and data:
                    yield json.loads(data), cursor
            time.sleep(pause)
            pause = min(15, pause * 2)

    def payments(self, **query):
        """Yields all payments that match, the newest first. Filters as for GET /v1/payments."""
        return self._all("payments", query)

    def transactions(self, **query):
        """Yields all transactions that this API key submitted, the newest first. Filters as for GET /v1/transactions."""
        return self._all("transactions", query)

    def _all(self, name, query):
        query = {"limit": 1_000, **query}
        while True:
            page = self.request("GET", f"/v1/{name}?{urlencode([pair for pair in query.items() if pair[1] is not None])}")
            yield from page[name]
            if page["cursor"] is None:
                return
            query["cursor"] = page["cursor"]

    def _frames(self, query):
        """The frames of one stream until it ends or breaks. An exception in the reading loop is the reader's own."""
        try:
            with self.open("GET", f"/v1/events/stream?{query}", timeout=30) as answer:  # The gateway sends something every 5 s.
                frame = {}
                for line in answer:
                    field, _, value = line.decode().rstrip("\r\n").partition(": ")
                    if field:
                        frame[field] = value
                    else:
                        yield frame
                        frame = {}
        except (OSError, HTTPException, GatewayError) as problem:
            if getattr(problem, "retry", "same") == "never":
                raise

    def write(self, operation, keypair, idempotency_key=None, on_warning=lambda warning: None, reference=None):
        """Returns {hash, ledger} after the network's confirmation. To survive a crash, store an idempotency key, and write
        again with it. `reference` is your own name of it. Calls `on_warning` before the signature; if it raises, the write ends."""
        source, sent = keypair.public_key, None
        request = {"source": source, "operation": operation} | ({} if reference is None else {"reference": reference})
        headers = {"Idempotency-Key": str(uuid.uuid4() if idempotency_key is None else idempotency_key)}
        for tries in range(4):
            try:
                prepared = self.request("POST", "/v1/transactions/prepare", request, headers)
                sent = sent or isinstance(prepared, dict) and prepared.get("replaces")
                if isinstance(prepared, dict) and prepared.get("status") == "success" and "xdr" not in prepared:
                    return {"hash": prepared["hash"], "ledger": prepared["ledger"]}  # The gateway no longer has the envelope.
                envelope = checked_envelope(prepared, source, operation, self.network, self.max_fee, self.max_validity)
                if prepared.get("status") != "success":
                    if warning := prepared.get("warning"):
                        on_warning(warning)
                    envelope.sign(keypair)
                if ended := self._settled(envelope, envelope.hash_hex(), prepared["validUntil"], headers):
                    return ended
            except GatewayError as error:  # A rejected envelope may be applied, unless a contract refused.
                is_known = not sent or error.reason in ("contract_refused", "outcome_unknown")
                raise error if is_known else GatewayError("outcome_unknown", error.message, "same", hash=sent)
            sent = envelope.hash_hex()
            time.sleep(0.25 * (tries + 1))
        raise GatewayError("outcome_unknown", "the network rejected four envelopes, and may apply one of them", "same", hash=sent)

    def _settled(self, envelope, txid, valid_until, headers):
        """The outcome of an envelope; None when the network rejected it and another one may succeed."""
        unknown = GatewayError("outcome_unknown", f"whether {txid} was applied is not known yet", "same", hash=txid)
        while True:
            problem, signed = unknown, envelope.signatures and {"xdr": envelope.to_xdr()}
            try:
                sent = signed and self.request("POST", "/v1/transactions/submit", signed, headers)
                if isinstance(sent, dict) and sent.get("hash") == txid:  # A proxy may answer anything with 200.
                    return sent
            except GatewayError as error:
                problem = error
            try:
                answer = self.request("GET", f"/v1/transactions/{txid}")
                status = answer["status"] if answer["hash"] == txid else "unknown"
            except (GatewayError, LookupError, TypeError) as error:
                answer, status = {}, getattr(error, "reason", "unknown")
            if status == "success":
                return {"hash": txid, "ledger": answer["ledger"]}
            is_over = status in ("failed", "rejected", "not_found")
            if signed and "prepare_again" in (problem.retry, answer.get("retry")) and (is_over or status == "pending"):
                return None
            if signed and status in ("failed", "rejected") and problem.retry == "same":
                reason = "contract_refused" if answer.get("contractError") else "invalid_request"
                raise GatewayError(reason, answer.get("error", ""), answer.get("retry", "never"), hash=txid, error=answer)
            if problem.retry == "never" or time.time() > valid_until + 60:
                raise problem if problem.retry == "never" and is_over else unknown
            time.sleep(1)


def checked_envelope(prepared, source, operation, network, max_fee, max_validity):
    """The envelope, if it is the requested operation only: this builds it again, and both must be equal byte for byte."""
    from stellar_sdk import Address, Keypair, TransactionEnvelope, scval, xdr as x
    def call(contract, name, *args):
        return x.InvokeContractArgs(Address(contract).to_xdr_sc_address(), x.SCSymbol(name.encode()), list(args))
    def invocation(function, *under):
        kind = x.SorobanAuthorizedFunctionType.SOROBAN_AUTHORIZED_FUNCTION_TYPE_CONTRACT_FN
        return x.SorobanAuthorizedInvocation(x.SorobanAuthorizedFunction(kind, function), list(under))
    try:
        tx, op = x.TransactionEnvelope.from_xdr(prepared["xdr"]).v1.tx, operation
        nonce = op.get("nonce") or prepared["operation"].get("nonce") or "0"
        device, agents, escrow = map(network["contracts"].get, ("deviceRegistry", "agentRegistry", "paymentEscrow"))
        address, asset, amount = scval.to_address, op.get("asset"), scval.to_int128(int(op.get("amount", 0)))
        who, card = address(source), scval.to_bytes(bytes.fromhex(op.get("deviceHash", "")))
        asked = {
            "registerDevice": lambda: call(device, "register", who, card, address(op["agent"])),
            "revokeDevice": lambda: call(device, "revoke", who, card),
            "registerAgent": lambda: call(agents, "register_agent", who, card, address(op["agent"]), scval.to_int128(
                int(op["maxAmount"])), address(asset), scval.to_uint64(op.get("expiresAt") or 0)),
            "revokeAgent": lambda: call(agents, "revoke_agent", who, card),
            "fundEscrow": lambda: call(escrow, "fund_escrow", address(asset), who, card, amount),
            "authorize": lambda: call(escrow, "authorize", who, card, address(op["merchant"]), address(asset), amount,
                                      scval.to_uint64(int(nonce))),
            "claim": lambda: call(escrow, "claim", address(asset), who),
            "defundEscrow": lambda: call(escrow, "defund_escrow", address(asset), card, amount),
            "sweepEscrow": lambda: call(escrow, "sweep_on_revoke", address(asset), card, address(op["agent"])),
        }[op["kind"]]()
        under = [invocation(call(asset, "transfer", who, address(escrow), amount))] if op["kind"] == "fundEscrow" else []
        credentials = x.SorobanCredentials(x.SorobanCredentialsType.SOROBAN_CREDENTIALS_SOURCE_ACCOUNT)
        function = x.HostFunction(x.HostFunctionType.HOST_FUNCTION_TYPE_INVOKE_CONTRACT, invoke_contract=asked)
        invoke = x.InvokeHostFunctionOp(function, [x.SorobanAuthorizationEntry(credentials, invocation(asked, *under))])
        body = x.OperationBody(x.OperationType.INVOKE_HOST_FUNCTION, invoke_host_function_op=invoke)
        until = tx.cond.time_bounds.max_time.time_point.uint64
        bounds = x.TimeBounds(x.TimePoint(x.Uint64(0)), tx.cond.time_bounds.max_time)
        anew = x.Transaction(Keypair.from_public_key(source).xdr_muxed_account(), tx.fee, tx.seq_num, x.Preconditions(
            x.PreconditionType.PRECOND_TIME, bounds), x.Memo(x.MemoType.MEMO_NONE), [x.Operation(None, body)], tx.ext)
        whole = x.TransactionEnvelope(x.EnvelopeType.ENVELOPE_TYPE_TX, v1=x.TransactionV1Envelope(anew, []))
        if whole.to_xdr() != prepared["xdr"] or tx.fee.uint32 > max_fee or not 0 < until <= time.time() + max_validity:
            raise ValueError("another operation, too high a fee, or too long a validity")
    except Exception as problem:  # Nothing is signed, whatever the problem.
        raise GatewayError("envelope_refused", f"the prepared envelope is not the requested operation: {problem!r}")
    return TransactionEnvelope.from_xdr(prepared["xdr"], network["networkPassphrase"])


def receive(body, signature, secret, tolerance=300):
    """The event of a webhook, from its raw body and its X-Service-Signature; None without a valid and recent signature."""
    parts = [part.strip().partition("=") for part in (signature or "").split(",")]
    at = next((value for name, _, value in parts if name == "t" and value.isdecimal()), "0")
    expected = hmac.new(secret.encode(), f"{at}.".encode() + body, hashlib.sha256).hexdigest()
    is_signed = any([hmac.compare_digest(expected.encode(), v.encode(errors="replace")) for name, _, v in parts if name == "v1"])
    return json.loads(body)["event"] if is_signed and abs(time.time() - int(at)) <= tolerance else None


def to_units(amount, decimals=7):
    """Converts "4.5" to the asset's smallest unit, as the gateway expects it: "45000000"."""
    units = Fraction(amount) * 10**decimals
    if units.denominator != 1 or units < 0:
        raise ValueError(f"amount must have at most {decimals} digits after the point; got {amount}")
    return str(units)


def device_hash(uid):
    """The deviceHash of a card: SHA-256 of its UID of 4, 7 or 10 bytes, which may be written "04:A2:2B:11:5C:80:01"."""
    if isinstance(uid, str) and not re.fullmatch(r"[0-9A-Fa-f]{2}([:\- ]?[0-9A-Fa-f]{2})*", uid.strip()):
        raise ValueError(f"uid must be 4, 7 or 10 bytes, such as 04:A2:2B:11:5C:80:01; got {uid[:40]!r}")
    raw = uid if isinstance(uid, bytes) else bytes.fromhex(re.sub(r"[:\- ]", "", uid.strip()))
    if len(raw) not in (4, 7, 10):
        raise ValueError(f"uid must be 4, 7 or 10 bytes, such as 04:A2:2B:11:5C:80:01; got {len(raw)} bytes")
    return hashlib.sha256(raw).hexdigest()
