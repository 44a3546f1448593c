# An image of this checkout: docker build -t soorma-ai . An application adds its agents, as in docs/deploy.md.
FROM python:3.13-slim AS build
COPY . /src
RUN pip wheel --no-cache-dir --no-deps --wheel-dir /wheels /src

FROM python:3.13-slim
COPY --from=build /wheels /wheels
RUN pip install --no-cache-dir "$(echo /wheels/*.whl)[llm,nats,postgres,server]"
RUN useradd --uid 1000 --create-home soorma
USER 1000
WORKDIR /srv
EXPOSE 8700
ENTRYPOINT ["soorma"]
CMD ["--help"]
