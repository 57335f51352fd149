"""Gets a token for a key, and calls a backend with it: with Authlib."""
import os

from authlib.integrations.requests_client import OAuth2Session

session = OAuth2Session(
    os.environ["CLIENT_ID"], os.environ["CLIENT_SECRET"], token_endpoint_auth_method=os.environ["METHOD"]
)
session.fetch_token(os.environ["TOKEN_URL"], grant_type="client_credentials")
answer = session.get(os.environ["BACKEND"], timeout=30)
answer.raise_for_status()
print(answer.text)
