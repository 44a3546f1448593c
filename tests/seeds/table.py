"""Every code block of the seed documents: the test that runs it and the lines changed for it, or why none does.

Where pages disagree, the one with the later date counts; of pages of one date, `sdk-refactoring-plan` does.
"""

from seeds.kinds import Change, Names, NotRun, Runs, Sample

FILES = NotRun("a list of files of an earlier implementation")

# Samples that several documents have.

DECLARED_CALCULATOR = Runs(("test_tools.py::test_a_declared_calculator_calculates",))
CALLER_OF_A_TOOL = Runs(
    ("test_tools.py::test_a_declared_calculator_calculates",),
    (
        Change("", "found[:] = [request_schema, response_schema]", "the test looks at them"),
        Change(
            "",
            "await (await result.restore_task()).complete(calc_result)",
            "the sample breaks off here; a task that nothing would end is a failure",
        ),
    ),
)
INVOCATION = Names(("test_tools.py::test_invocation_context_from_event",))
ON_INVOKE = Names(
    ("test_tools.py::test_tool_on_invoke_publishes_result", "test_tools.py::test_tool_on_invoke_handles_error")
)

TOOL_MODEL = (
    Sample("tool-model", 1, "Key Files", "where the tool is", FILES),
    Sample("tool-model", 2, "1. InvocationContext", "what a tool's handler gets", INVOCATION),
    Sample("tool-model", 3, "2. Tool Class with on_invoke() Decorator", "the decorator of tools", ON_INVOKE),
    Sample("tool-model", 4, "Tool Declaration with Schema", "a tool declares its schemas", DECLARED_CALCULATOR),
    Sample("tool-model", 5, "Simple Tool Handler", "a handler returns its result", DECLARED_CALCULATOR),
    Sample("tool-model", 6, "Caller Using Tool Dynamically", "a worker finds a tool and asks it", CALLER_OF_A_TOOL),
    Sample(
        "tool-model",
        7,
        "Tests to Add",
        "four tests of tools",
        Runs(
            (
                "test_tools.py::test_tool_on_invoke_publishes_result",
                "test_tools.py::test_tool_on_invoke_handles_error",
                "test_tools.py::test_tool_uses_caller_response_event",
                "test_tools.py::test_invocation_context_from_event",
            ),
            (Change("pass", "", "two of the tests are empty; here they test what their docstrings say"),),
        ),
    ),
)

SAMPLES: tuple[Sample, ...] = (*TOOL_MODEL,)
