# Both stages build from the same image. A release names it with its digest (.github/workflows/release.yml).
ARG BASE=node:26-slim

# Only the build stage has development packages.
FROM $BASE AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci --ignore-scripts
COPY tsconfig.json ./
COPY .build .build
COPY src src
RUN npm run build && npm prune --omit=dev --ignore-scripts

FROM $BASE
# Each stage that uses an argument of the file repeats it.
ARG BASE
LABEL org.opencontainers.image.base.name=$BASE
# The first start writes the accounts: onto the volume, so that the root file system can be read-only.
ENV NODE_ENV=production ACCOUNTS__PATH=data/accounts.yaml
WORKDIR /app
COPY --from=build /app/node_modules node_modules
COPY --from=build /app/dist dist
COPY package.json LICENSE ./
COPY config config
# `shared` and `redis` are mount points of volumes, as in docker-compose.yml: what several gateways share, and what Redis reads.
RUN install -d -o node -g node -m 0700 data shared redis
# The user `node`, as a number: Kubernetes can see that it is not root.
USER 1000:1000
VOLUME /app/data
EXPOSE 8080
# The internal listener listens on 127.0.0.1 of the container unless INTERNAL__HOST is set.
HEALTHCHECK --interval=10s --timeout=3s --start-period=10s CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.INTERNAL__PORT || 8081}/livez`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
# Secrets come from the environment: JWT__SECRET_KEY, LOGIN__SM2__PRIVATE_KEY, INTERNAL__SECRET.
ENTRYPOINT ["node", "dist/main.js"]
CMD ["start"]
