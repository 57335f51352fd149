"""A backend that accepts only requests with an assertion of the gateway: python3 pyjwt_backend.py"""

import json
import os
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import jwt

JWKS_URL = os.environ.get("JWKS_URL", "http://127.0.0.1:8081/.well-known/dualgate/jwks.json")
ISSUER = os.environ.get("ISSUER", "dualgate")
AUDIENCE = os.environ.get("AUDIENCE", "orders")

# Keeps the keys for five minutes. An unknown key id makes it fetch them again, every 30 seconds at most.
keys = jwt.PyJWKClient(JWKS_URL, lifespan=300, cooldown_duration=30, timeout=5)


def user_of(assertion: str) -> dict:
    """Raises jwt.PyJWTError if the assertion is not valid here and now, or the keys cannot be fetched."""
    claims = jwt.decode(
        assertion,
        keys.get_signing_key_from_jwt(assertion),
        algorithms=["ES256"],
        issuer=ISSUER,
        audience=AUDIENCE,
        # Clocks of two machines differ a little.
        leeway=5,
        options={"require": ["iss", "aud", "exp", "sub"]},
    )
    return {
        "id": claims["sub"],
        "type": claims["login_type"],
        "username": claims.get("username"),
        "roles": claims["roles"],
    }


class Backend(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        try:
            self.answer(200, user_of(self.headers.get("X-Login-Assertion", "")))
        except jwt.PyJWKClientConnectionError:
            # This says nothing about the user.
            self.answer(503, {"error": "the keys of the gateway cannot be fetched"})
        except jwt.PyJWTError:
            self.answer(401, {"error": "this request did not come through the gateway"})

    def answer(self, status: int, content: dict) -> None:
        body = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


if __name__ == "__main__":
    ThreadingHTTPServer(("127.0.0.1", int(os.environ.get("PORT", "3000"))), Backend).serve_forever()
