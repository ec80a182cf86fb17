"""Azure's LLM inference traces of 2023 and 2024, and BurstGPT: times and lengths of single requests.

Sources: github.com/Azure/AzurePublicDataset (TIMESTAMP, ContextTokens, GeneratedTokens; NumImages of the multimodal one is left out);
github.com/HPMLL/BurstGPT (Timestamp: seconds from the start; Request tokens, Response tokens, 0 for a request that failed; Session ID and Elapsed
time, in s, of later releases; Model and Log Type are not needed).
Cannot tell: what prompts have in common; of sessions, whether a request holds the ones before it.
"""
from ..messages import seconds
from ..trace import Job, Refused, Turn
from . import converter
from .fields import count, first

NAMES = {"timestamp": "at", "contexttokens": "prompt", "context_tokens": "prompt", "generatedtokens": "answer", "generated_tokens": "answer",
         "request tokens": "prompt", "response tokens": "answer", "numimages": "images"}


def _named(row):
    return {NAMES[name.strip().lower()]: value for name, value in row.items() if name.strip().lower() in NAMES}


@converter("azure", lambda row: {"at", "prompt", "answer"} <= set(_named(row)), rank=2)
def request(row, context):
    """Azure 2023 and 2024, BurstGPT: arrivals and lengths; failed requests are left out."""
    found = _named(row)
    prompt, answer = count(found, "prompt"), count(found, "answer")
    if prompt == 0 or answer == 0:
        context.notes.leave_out("failed requests", "they have no answer" if prompt else "they have neither prompt nor answer", tokens=prompt, place=row.place)
        return None
    if count(found, "images", needed=False):
        context.notes.leave_out("images", "their tokens depend on the model", count=count(found, "images"))
    if first(row, "Session ID") is not None:
        context.notes.assume("requests of a session are jobs of their own: the rows do not say what they have in common")
    context.notes.assume("prompts share nothing: the rows do not say what they have in common")
    when = seconds(first(found, "at"))
    if when is None:
        raise Refused("has no time")
    return Job(f"line {row.place.rpartition(':')[2]}", [Turn([(None, prompt)], [(None, answer)])], when)
