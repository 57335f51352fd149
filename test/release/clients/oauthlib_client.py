"""Gets a token for a key, and calls a backend with it: with requests-oauthlib."""
import os

from oauthlib.oauth2 import BackendApplicationClient
from requests_oauthlib import OAuth2Session

client_id = os.environ["CLIENT_ID"]
session = OAuth2Session(client=BackendApplicationClient(client_id=client_id))
session.fetch_token(
    os.environ["TOKEN_URL"],
    client_id=client_id,
    client_secret=os.environ["CLIENT_SECRET"],
    include_client_id=os.environ["METHOD"] == "client_secret_post",
)
answer = session.get(os.environ["BACKEND"], timeout=30)
answer.raise_for_status()
print(answer.text)
