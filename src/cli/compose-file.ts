/** The package, as `npm pack` in a clone makes it. */
export const tarballOf = (version: string): string => `dualgate-${version}.tgz`

/** A compose file that runs this version of the gateway with the package, the configuration and the `.env` beside it. */
export const composeFile = (
  version: string,
): string => `# The gateway in a container, with the configuration and the secrets of this folder. The image is built from the package in the
# file ${tarballOf(version)}, which must be here, too: \`npm pack\` in a clone of the repository makes it.
#
#   docker compose up
#
# prints the password of the first account, admin. Sign in with it at http://localhost:8080/console/. More commands:
#
#   docker compose exec gateway dualgate account add jane --role operator
#   docker compose exec gateway dualgate reload    applies a changed config/ without losing a request
#   docker compose up -d                           applies a changed .env, with a restart
#   docker compose down --volumes                  deletes the sessions and the accounts
services:
  gateway:
    build:
      dockerfile_inline: |
        FROM node:26-slim
        # Once the package is published, the next line is not needed: name dualgate@${version} instead of the file.
        COPY ${tarballOf(version)} /tmp/
        RUN npm install --global --ignore-scripts --no-audit --no-fund /tmp/${tarballOf(version)}
        WORKDIR /app
        RUN install -d -o node -g node -m 0700 data
        USER node
    command: [dualgate, start]
    environment: { NODE_ENV: production }
    # The secrets, and where the accounts are.
    env_file: .env
    volumes: ["./config:/app/config:ro", "data:/app/data"]
    # The internal listener, port 8081, is not published: a client that reaches it and knows its secret can act as any user.
    # A backend that needs it runs in a network of this file; then set INTERNAL__HOST: 0.0.0.0 above.
    ports: ["8080:8080"]
    healthcheck:
      test: [CMD, node, -e, "fetch('http://127.0.0.1:8081/livez').then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
      interval: 10s
      timeout: 3s
      start_period: 10s
    read_only: true
    tmpfs: [/tmp]
    cap_drop: [ALL]
    security_opt: ["no-new-privileges:true"]
    init: true
    restart: unless-stopped
    # Longer than the time that the gateway gives to requests in progress.
    stop_grace_period: 40s

volumes:
  data:
`
