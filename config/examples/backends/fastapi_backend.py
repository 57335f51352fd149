"""A FastAPI backend that accepts only requests of the gateway: IDENTITY_KEYS=… uvicorn fastapi_backend:app --port 3000"""

import hashlib
import hmac
import json
import os
import time
import urllib.request

from fastapi import Body, Depends, FastAPI, HTTPException, Request

KEYS = [key.encode() for key in os.environ["IDENTITY_KEYS"].split(",")]
INTERNAL_URL = os.environ.get("INTERNAL_URL", "http://127.0.0.1:8081")
INTERNAL_SECRET = os.environ.get("INTERNAL_SECRET", "")
DEMO_PASSWORD = os.environ.get("DEMO_PASSWORD", "")


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


def operate(operation: str, body: dict) -> dict | None:
    """One operation of the gateway on the sessions of consumers."""
    headers = {"Authorization": f"Bearer {INTERNAL_SECRET}", "Content-Type": "application/json"}
    url = f"{INTERNAL_URL}/operations/v1/consumer/{operation}"
    with urllib.request.urlopen(urllib.request.Request(url, json.dumps(body).encode(), headers), timeout=10) as response:
        answer = json.load(response)
    if answer["code"] != 200:
        raise RuntimeError(f"{operation}: {answer['message']}")
    return answer["data"]


def is_password(text: str) -> bool:
    """Replace it: your program knows its users and their passwords."""
    return DEMO_PASSWORD != "" and hmac.compare_digest(text.encode(), DEMO_PASSWORD.encode())


# This path needs no session. The answer is {"token": "…"}, which the client sends from now on.
@app.post("/api/v1/public/c/sign-in", dependencies=[Depends(client_of)])
def sign_in(name: str = Body(), password: str = Body()) -> dict:
    if not is_password(password):
        raise HTTPException(401, "wrong name or password")
    return operate("login", {"user_id": name})


# Ends every session of the signed-in user.
@app.post("/api/v1/c/sign-out-everywhere")
def sign_out_everywhere(client: dict = Depends(client_of)) -> dict:
    operate("kickout", {"user_id": client["id"]})
    return {"id": client["id"]}
