"""The plain template: Llama 3's framing, a header and an end mark around each message. It is what kvsweep's own workloads have."""
from array import array

from .messages import Message, compact
from .tokens import pieces, unknown

BEGIN, HEADER, HEADER_END, END = (array("I", [0xFFFFFFFF - mark]) for mark in range(4))   # no tokenizer has these ids
OPEN, CLOSE, TAG = "```bash\n", "\n```", "<function="


def bash_blocks(text):
    found, at = [], text.find(OPEN)
    while at >= 0:
        close = text.find(CLOSE, at + len(OPEN))
        if close < 0:
            break
        found.append(text[at + len(OPEN) : close])
        at = text.find(OPEN, close + len(CLOSE))
    return found


def function_tag(text):
    at = text.rfind(TAG)
    name = text[at + len(TAG) :].partition(">") if at >= 0 else ("", "", "")
    return name[0].split()[0] if name[1] and "\n" not in name[0] and name[0].strip() else ""


def calls_text(message):
    return "\n".join(compact({"name": name, "arguments": arguments}) for name, arguments in message.calls)


def answer_parts(message):
    """Texts of an answer, with labels: what the model said, what it called, and the bash block that Continuum's parser needs."""
    said = message.reasoning + ("\n" if message.reasoning and message.text else "") + message.text
    parts = [("assistant", said)]
    if message.calls:
        parts.append(("tool_call", ("\n" if said else "") + calls_text(message)))
        if len(bash_blocks(message.text)) != 1:
            parts.append(("synthesized", f"\n```bash\n{message.calls[0][0]}\n```"))
    return parts


def tool_name(message):
    """The first word of an answer's only bash block, or the name of its call."""
    blocks = bash_blocks(message.text)
    if message.calls and len(blocks) != 1:
        return message.calls[0][0].split()[0] if message.calls[0][0].strip() and not blocks else ""
    if len(blocks) == 1:
        return (blocks[0].split() or [""])[0]
    return function_tag(message.text) if not blocks else ""


def calls_tool(message):
    return bool(message.calls or bash_blocks(message.text) or function_tag(message.text))


class Plain:
    name, digest = "plain: Llama 3's framing", None

    def __init__(self, tokenizer):
        self.tokenizer = tokenizer
        self.headers = {role: HEADER + tokenizer.encode(role) + HEADER_END + tokenizer.encode("\n\n") for role in ("system", "user", "assistant", "tool")}

    def turns(self, chat, answers, notes):
        """Yields for each answer: how many tokens of the turn before its prompt begins with (None: all), and pieces of prompt and answer."""
        prompt, called = [], False
        pending = BEGIN
        messages = with_tools(chat)
        turns = {number + len(messages) - len(chat.messages) for number in answers}
        for number, message in enumerate(messages):
            if number not in turns:
                prompt.append((self._label(message, called), pending + self._whole(message)))
                pending = array("I")
                continue
            prompt.append(("role", pending + self.headers["assistant"]))
            pending = array("I")
            parts = answer_parts(message)
            if any(label == "synthesized" for label, _ in parts):
                notes.assume("an answer that calls a tool without one bash block ends in a synthesized one, which Continuum's parser needs")
            if message.reasoning:
                notes.assume("reasoning stays in the prompts after it")
            yield None, prompt, [("assistant", unknown(message.tokens))] if message.tokens else [*pieces(self.tokenizer, parts), ("role", END)]
            prompt, called = [], calls_tool(message)

    def _whole(self, message):
        text = "".join(text for label, text in answer_parts(message) if message.role == "assistant" or label != "synthesized")
        return self.headers[message.role] + self.tokenizer.encode(text) + END

    @staticmethod
    def _label(message, called):
        if message.role == "system":
            return "system"
        return "tool_result" if message.role == "tool" or (message.role == "user" and called) else "user"


def with_tools(chat):
    """The messages, with the schemas of tools as the end of the system message, one a line."""
    if not chat.tools:
        return chat.messages
    schemas = "\n".join(each if isinstance(each, str) else compact(each) for each in chat.tools)
    if chat.messages and chat.messages[0].role == "system":
        first = chat.messages[0]
        return [Message("system", first.text + "\n\n" + schemas, raw=first.raw), *chat.messages[1:]]
    return [Message("system", schemas), *chat.messages]
