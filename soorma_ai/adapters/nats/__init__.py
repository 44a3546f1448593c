"""The bus over NATS JetStream, for platforms of several processes and hosts."""
