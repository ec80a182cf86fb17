"""The model's own chat template, by jinja2: a prompt is what the template makes of the messages before the answer."""
import hashlib
import json
import os
import re

from .blocks import common
from .messages import compact, loaded
from .plain import answer_parts, calls_text
from .sources import needed
from .tokens import pieces, unknown
from .trace import Refused


class Template:
    def __init__(self, path, tokenizer):
        try:
            with open(path, "rb") as file:
                data = file.read()
        except OSError as problem:
            raise Refused(f"{path}: cannot be read as a template: {problem.strerror}") from None
        try:
            config = json.loads(data)
        except ValueError:
            config = {"chat_template": data.decode(errors="replace")}
        source = config.get("chat_template") if isinstance(config, dict) else None
        if isinstance(source, list) and source:
            source = next((each["template"] for each in source if each.get("name") == "default"), source[0]["template"])
        if not isinstance(source, str):
            raise Refused(f"{path}: has no chat_template; allowed: the model's tokenizer_config.json, or a jinja file")
        needed("jinja2", f"{path}: a chat template")
        from jinja2 import TemplateSyntaxError
        from jinja2.sandbox import ImmutableSandboxedEnvironment
        world = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"])
        world.filters["tojson"] = lambda value, indent=None, **_: json.dumps(value, ensure_ascii=False, indent=indent)
        world.globals.update(raise_exception=_raise, strftime_now=lambda form: "01 Jan 2026")
        try:
            self.render = world.from_string(re.sub(r"\{%-?\s*(end)?generation\s*-?%\}", "", source)).render
        except TemplateSyntaxError as problem:
            raise Refused(f"{path}: line {problem.lineno} of the template: {problem.message}") from None
        self.dated = "strftime_now" in source
        tokens = {name: each["content"] if isinstance(each, dict) else each for name, each in config.items() if name.endswith("_token")}
        self.marks = {name: each or "" for name, each in tokens.items() if isinstance(each, str) or each is None}
        self.name, self.digest, self.tokenizer = os.path.basename(path), hashlib.sha256(data).hexdigest(), tokenizer

    def turns(self, chat, answers, notes):
        """As Plain.turns. A template may change what came before (many take earlier reasoning away): a turn keeps what is equal."""
        records = [_record(message) for message in chat.messages]
        self.tools = self._schemas(chat, records[: answers[0]], notes)
        if self.dated:
            notes.assume("the date in the template is 1 January 2026")
        bounds, before, total = [(0, 0, 0)], "", 0   # characters, tokens, messages: where turns before are known to be cut
        for number in answers:
            prompt, message = self._text(records[:number], True), chat.messages[number]
            same = common(before, prompt)
            while bounds[-1][0] > same:
                bounds.pop()
            chars, kept, after = bounds[-1]
            self._lost(prompt[chars:], chat.messages[after:number], notes)
            fresh = self._pieces(prompt[chars:], chat.messages[after:number], 0 if chars else self._system(records, prompt))
            text = self._answer(records[: number + 1], prompt, message)
            answer = self._pieces(text, [message])
            lost = [(label, said) for label, said, mark in (("assistant", message.reasoning, message.reasoning.strip()), ("tool_call", calls_text(message), (message.calls or [("",)])[0][0]))
                    if mark and mark not in prompt[chars:] + text]
            if lost:
                notes.assume("reasoning and calls that the template leaves out count in their answer alone")
                answer = [piece for part in lost for piece in pieces(self.tokenizer, [part])] + answer
            if message.tokens:
                answer = [("assistant", unknown(message.tokens))]
            yield None if total and kept == total else kept, fresh, answer
            length = kept + _count(fresh)
            bounds.append((len(prompt), length, number))
            before, total = prompt, length + _count(answer)
            if not lost and not message.tokens:
                before += text
                bounds.append((len(before), total, number + 1))

    def _schemas(self, chat, records, notes):
        """The schemas of tools, where the template has them in the prompt."""
        self.tools = [schema for each in chat.tools for schema in _listed(loaded(each) if isinstance(each, str) else each)]
        if not self.tools:
            return None
        prompt, tools, self.tools = self._text(records, True), self.tools, None
        if prompt == self._text(records, True):
            notes.leave_out("schemas of tools", "the template has no place for them", len(self.tokenizer.encode(compact(tools))), count=len(tools))
        return tools

    def _answer(self, records, prompt, message):
        """What the model generates, up to its end mark."""
        whole = self._text(records, False)
        text = whole[len(prompt) :].rstrip("\n") if whole.startswith(prompt) else ""
        return text or "".join(part for label, part in answer_parts(message) if label != "synthesized") or "\n"

    def _text(self, records, opens):
        try:
            return self.render(messages=records, tools=self.tools, add_generation_prompt=opens, **self.marks)
        except Exception as problem:   # a template raises what it likes
            raise Refused(f"the template refuses the messages: {problem}") from None

    def _system(self, records, prompt):
        """How much of the prompt is the system's: its message, and the schemas that the template has there."""
        if records[0]["role"] != "system":
            return 0
        try:
            return common(self._text(records[:1], False), prompt)
        except Refused:
            return 0

    def _lost(self, text, messages, notes):
        for message in messages:
            if message.text.strip() not in text:
                notes.leave_out("messages that the template changes or leaves out", "the prompt holds what the template made of them", len(self.tokenizer.encode(message.text)))

    def _pieces(self, text, messages, system=0):
        """Marks count with the message behind them. The rest is the mark that ends an answer or opens one; in an answer that calls, it is calls."""
        parts, at = [("system", text[:system])], system
        for message in messages:
            label = {"assistant": "assistant", "tool": "tool_result"}.get(message.role, message.role)
            for said in (message.reasoning.strip(), message.text.strip()):
                begin = text.find(said, at) if said else -1
                if begin >= 0:
                    parts.append((label, text[at : begin + len(said)]))
                    at = begin + len(said)
        calls = messages and messages[-1].role == "assistant" and messages[-1].calls and messages[-1].calls[0][0] in text[at:]
        return pieces(self.tokenizer, [*parts, ("tool_call" if calls else "role", text[at:])])


def _count(found):
    return sum(len(tokens) for _, tokens in found)


def _listed(value):
    return value if isinstance(value, list) else [value]


def _raise(sentence):
    raise Refused(sentence)


def _record(message):
    raw = message.raw or {}
    record = {"role": message.role, "content": message.text, **{key: raw[key] for key in ("name", "tool_call_id") if raw.get(key)}}
    if message.reasoning:
        record["reasoning_content"] = message.reasoning
    if message.calls:
        ids = [each.get("id") for each in raw.get("tool_calls") or () if isinstance(each, dict)]
        record["tool_calls"] = [{"id": (ids[at : at + 1] or [f"call{at:05}"])[0], "type": "function", "function": {"name": name, "arguments": arguments}}
                                for at, (name, arguments) in enumerate(message.calls)]
    return record
