"""Names of spans, attributes and metrics: the semantic conventions of OpenTelemetry, and ours.

Messaging names are those of the semantic conventions 1.45, names of models those of the GenAI conventions v0.1.0. Both
are in development, so all names stand here.
"""

SCOPE = "soorma_ai"
CONVENTIONS = "https://opentelemetry.io/schemas/1.45.0"
SYSTEM_NAME = "soorma_ai"
PROCESS = "process"
CHAT = "chat"
INVOKE_AGENT = "invoke_agent"

# Messaging, 1.45.
MESSAGING_SYSTEM = "messaging.system"
OPERATION_TYPE = "messaging.operation.type"
OPERATION_NAME = "messaging.operation.name"
DESTINATION = "messaging.destination.name"
CONSUMER_GROUP = "messaging.consumer.group.name"
MESSAGE_ID = "messaging.message.id"
CONVERSATION_ID = "messaging.message.conversation_id"
BATCH_COUNT = "messaging.batch.message_count"
ERROR_TYPE = "error.type"

# GenAI, v0.1.0.
GEN_AI_OPERATION = "gen_ai.operation.name"
GEN_AI_PROVIDER = "gen_ai.provider.name"
GEN_AI_AGENT = "gen_ai.agent.name"
GEN_AI_MODEL = "gen_ai.response.model"
GEN_AI_INPUT_TOKENS = "gen_ai.usage.input_tokens"
GEN_AI_OUTPUT_TOKENS = "gen_ai.usage.output_tokens"
GEN_AI_CACHED_TOKENS = "gen_ai.usage.cache_read.input_tokens"
GEN_AI_FINISH = "gen_ai.response.finish_reasons"
GEN_AI_OUTPUT = "gen_ai.output.messages"

# Ours.
TENANT = "soorma.tenant.id"
PLAN = "soorma.plan.id"
ROOT_PLAN = "soorma.root_plan.id"
QUESTION = "soorma.question.id"
EVENT_TYPE = "soorma.event.type"
CLAIM = "soorma.delivery.claim"
OUTCOME = "soorma.outcome"
REASON = "soorma.outcome.reason"
STATUS = "soorma.plan.status"
STEPS = "soorma.plan.steps"
VERDICT = "soorma.answer.verdict"
PAYLOAD = "soorma.event.data"
LINK = "soorma.link"
