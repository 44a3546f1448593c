"""Channels of questions to people: a terminal, a URL, a mailbox."""

import asyncio
import json
import smtplib
import ssl
import sys
from dataclasses import dataclass, field
from email.message import EmailMessage
from email.utils import make_msgid
from typing import TextIO

from soorma_ai.gateways.user_agent.agent import Question
from soorma_ai.gateways.webhooks.addresses import open_client
from soorma_ai.gateways.webhooks.signatures import StandardWebhooks
from soorma_ai.kernel.domain.expectations import Wait
from soorma_ai.surfaces.terminal.escapes import printable

SECONDS = 30.0


def tell(question: Question) -> str:
    """Return a question as text, complete in itself."""
    wait = question.wait
    lines = [f"Assigned to you by {question.claim.given_by}.", ""] if question.claim else []
    lines += [wait.message or wait.reason, "", f"Requested by: {wait.agent}"]
    lines += [f"Reason: {wait.reason}"] if wait.message and wait.reason else []
    if wait.proposed_event:
        lines += ["", f"Request: {wait.proposed_event}", json.dumps(wait.proposed_data, indent=2)]
    lines += ["", f"Answers: {', '.join(wait.allowed_decisions)}"]
    if wait.deadline:
        lines += [f"Deadline: {wait.deadline:%Y-%m-%d %H:%M} UTC; without an answer: {wait.on_expiry}"]
    lines += ["", f"Answer here: {question.link}" if question.link else _command(wait)]
    return "\n".join(lines) + "\n"


def _command(wait: Wait) -> str:
    if wait.proposed_event:
        return f"soorma approve {wait.wait_id}, or soorma reject {wait.wait_id}"
    return f"soorma answer {wait.wait_id} --data '{{...}}'"


@dataclass(frozen=True)
class Console:
    """Prints each question to a terminal, with terminal commands removed."""

    to: TextIO = field(default_factory=lambda: sys.stdout)

    async def __call__(self, question: Question) -> None:
        print(printable(f"{question.subject}\n{tell(question)}"), file=self.to, flush=True)


@dataclass(frozen=True)
class HttpPost:
    """Posts each question to a URL as JSON, signed as webhooks are: {wait, to, link, text}."""

    url: str
    secret: str = field(repr=False)
    allow_private: bool = False

    async def __call__(self, question: Question) -> None:
        wait = question.wait
        told = {
            "wait_id": wait.wait_id,
            "to": {"user_id": question.recipient.person.user_id, "address": question.recipient.address},
            "subject": question.subject,
            "text": tell(question),
            "link": question.link,
            "proposed_event": wait.proposed_event,
            "proposed_data": wait.proposed_data,
            "allowed_decisions": wait.allowed_decisions,
            "deadline": wait.deadline.isoformat() if wait.deadline else None,
        }
        body = json.dumps(told).encode()
        signed = StandardWebhooks(self.secret).sign(question.message_id, body, question.at)
        async with open_client(allow_private=self.allow_private, seconds=SECONDS) as client:
            headers = {**signed, "content-type": "application/json"}
            async with client.stream("POST", self.url, content=body, headers=headers) as answer:
                answer.raise_for_status()


@dataclass(frozen=True)
class Mail:
    """Sends each question by SMTP. The connection is encrypted, by STARTTLS or from its first byte, unless `plain`."""

    host: str
    sender: str
    port: int = 587
    user: str | None = None
    password: str | None = field(default=None, repr=False)
    encrypted_at_once: bool = False
    plain: bool = False

    async def __call__(self, question: Question) -> None:
        await asyncio.to_thread(self._send, self._message(question))

    def _message(self, question: Question) -> EmailMessage:
        """Return the message; its headers hold no line of the question's own."""
        message = EmailMessage()
        message["From"], message["To"] = self.sender, question.recipient.address
        message["Subject"] = " ".join(question.subject.split())[:200]
        message["Message-ID"] = make_msgid(domain=self.sender.rpartition("@")[2] or "localhost")
        message.set_content(tell(question))
        return message

    def _send(self, message: EmailMessage) -> None:
        context = ssl.create_default_context()
        if self.encrypted_at_once:
            connection: smtplib.SMTP = smtplib.SMTP_SSL(self.host, self.port, timeout=SECONDS, context=context)
        else:
            connection = smtplib.SMTP(self.host, self.port, timeout=SECONDS)
        with connection:
            if not (self.plain or self.encrypted_at_once):
                connection.starttls(context=context)
            if self.user is not None:
                connection.login(self.user, self.password or "")
            connection.send_message(message)
