"""A FastAPI backend that accepts only requests of the gateway: IDENTITY_KEYS=… uvicorn fastapi_backend:app --port 3000"""

import hashlib
import hmac
import os
import time

from fastapi import Depends, FastAPI, HTTPException, Request

KEYS = [key.encode() for key in os.environ["IDENTITY_KEYS"].split(",")]


def is_signed(method: str, path: str, headers) -> bool:
    """Whether the gateway sent the request within the last minute. `path` is as it arrived, without the query."""
    names = ("type", "id", "extra", "signature")
    login_type, login_id, extra, signature = (headers.get(f"x-login-{name}", "") for name in names)
    parts = [part.partition("=") for part in signature.split(",")]
    seconds = next((value for name, _, value in parts if name == "t"), "")
    if not (seconds.isascii() and seconds.isdigit() and abs(time.time() - int(seconds)) <= 60):
        return False
    text = ".".join((seconds, login_type, login_id, extra, method, path)).encode()
    expected = [hmac.new(key, text, hashlib.sha256).hexdigest().encode() for key in KEYS]
    given = [value.encode() for name, _, value in parts if name == "v1"]
    return any(hmac.compare_digest(one, other) for one in given for other in expected)


def client_of(request: Request) -> dict:
    path = request.scope["raw_path"].decode("latin-1")
    if not is_signed(request.method, path, request.headers):
        raise HTTPException(401, "this request did not come through the gateway")
    # On a path that needs no session, both are empty.
    return {"id": request.headers.get("x-login-id", ""), "type": request.headers.get("x-login-type", "")}


app = FastAPI()


@app.get("/api/v1/c/{rest:path}")
def show(client: dict = Depends(client_of)) -> dict:
    return client
