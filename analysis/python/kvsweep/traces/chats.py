"""Chats as jobs: a turn for each answer, whose prompt is the chat up to there."""
from .plain import Plain, tool_name
from .texts import TextPaths, cut
from .tokens import load
from .trace import Job, Refused, Turn


class Chats:
    """Makes jobs of the chats of one trace; what they have in common from their beginning has the same ids."""

    def __init__(self, notes, tokenizer=None, template=None):
        self.notes, self.paths, self.asked = notes, TextPaths(), (tokenizer, template)
        self.template = None

    def load(self):
        if self.template is None:
            tokenizer, template = self.asked
            self.tokenizer = load(tokenizer)
            if template is None:
                self.template = Plain(self.tokenizer)
            else:
                from .template import Template
                self.template = Template(template, self.tokenizer)

    def head(self):
        if self.template is None:
            return {}
        head = {"tokenizer": self.tokenizer.name, "tokenizer_sha256": self.tokenizer.digest, "template": self.template.name,
                "template_sha256": self.template.digest}
        return {key: value for key, value in head.items() if value}

    def job(self, chat, place=None):
        self.load()
        answers = self._answers(chat, place)
        path, job = [], Job(chat.name)
        times = _Times(chat, answers)
        job.arrival_s = chat.arrival_s if chat.arrival_s is not None else times.arrival_s
        for turn, (keep, prompt, answer) in enumerate(self.template.turns(chat, answers, self.notes)):
            if keep is not None:
                path = cut(path, keep)
            placed = self.paths.place(path, prompt + answer)
            segments = [[span for spans in part for span in spans] for part in (placed[: len(prompt)], placed[len(prompt) :])]
            message = chat.messages[answers[turn]]
            gap_s, start_s, api_s = times.of(turn)
            job.turns.append(Turn(segments[0], segments[1], extends=_extends(turn, keep), gap_s=chat.gaps.get(turn, gap_s), start_s=start_s, api_s=api_s,
                                  agent=chat.agent, tool=chat.tool_names.get(turn) or tool_name(message) or None))
        return job

    def _answers(self, chat, place):
        """Numbers of the messages that are turns. Answers before the first question belong to the prompt."""
        answers, asked = [], False
        for number, message in enumerate(chat.messages):
            asked = asked or message.role in ("user", "tool")
            if message.role == "assistant" and not message.is_demo:
                if asked:
                    answers.append(number)
                else:
                    self.notes.assume("answers before the first question are part of the prompt")
        if not answers:
            raise Refused("has no answer")
        behind = [message for message in chat.messages[answers[-1] + 1 :]]
        if behind:
            self.notes.leave_out("messages behind the last answer", "no request has them", sum(len(self.tokenizer.encode(message.text)) for message in behind),
                                 count=len(behind))
        return answers


def _extends(turn, keep):
    if turn == 0 or keep == 0:
        return None
    return turn - 1 if keep is None else (turn - 1, keep)


class _Times:
    """When turns began, where messages say when they were complete."""

    def __init__(self, chat, answers):
        self.asked, self.answered, before = [], [], None
        for number in answers:
            inputs = [message.sent_s for message in chat.messages[(before + 1) if before is not None else 0 : number] if message.sent_s is not None]
            self.asked.append(max(inputs) if inputs else None)
            self.answered.append(chat.messages[number].sent_s)
            before = number
        self.arrival_s = self.asked[0] if self.asked and self.asked[0] is not None else None

    def of(self, turn):
        """gap_s, start_s, api_s"""
        asked, answered = self.asked[turn], self.answered[turn]
        before = self.answered[turn - 1] if turn else None
        gap_s = max(0.0, asked - before) if None not in (asked, before) else None
        start_s = max(0.0, asked - self.arrival_s) if None not in (asked, self.arrival_s) else None
        api_s = max(0.0, answered - asked) if None not in (asked, answered) else None
        return gap_s, start_s, api_s
