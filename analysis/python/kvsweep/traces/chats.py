"""Chats as jobs: a turn for each answer, with the chat up to there as its prompt."""
import itertools

from .blocks import cut
from .plain import Plain, tool_name
from .texts import TextPaths
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

    def job(self, chat):
        answers = self._answers(chat)
        asked, answered = _times(chat, answers)
        times = [each for pair in zip(asked, answered) for each in pair if each is not None]
        if times:
            self.notes.assume("a message's time is when it was complete: a request is sent when its last input is")
        if times != sorted(times):
            self.notes.assume("chats have times that run backwards: such a lapse is 0 s", 1)
        path, job, arrival_s = [], Job(chat.name, arrival_s=asked[0] if chat.arrival_s is None else chat.arrival_s), asked[0]
        for turn, (keep, prompt, answer) in enumerate(self.template.turns(chat, answers, self.notes)):
            if keep is not None:
                path = cut(path, keep)
            placed = self.paths.place(path, prompt + answer)
            prompt, answer = (list(itertools.chain.from_iterable(part)) for part in (placed[: len(prompt)], placed[len(prompt) :]))
            gap_s = chat.gaps.get(turn, _lapse(answered[turn - 1], asked[turn]) if turn else None)
            job.turns.append(Turn(prompt, answer, None if turn == 0 or keep == 0 else turn - 1 if keep is None else (turn - 1, keep), gap_s=gap_s,
                                  start_s=_lapse(arrival_s, asked[turn]), api_s=_lapse(asked[turn], answered[turn]), tool=tool_name(chat.messages[answers[turn]])))
        for request in chat.requests:
            later = self.job(request)
            later.turns[0].start_s = _lapse(job.arrival_s, later.arrival_s)
            job.turns += later.turns
        return job

    def _answers(self, chat):
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
        behind = chat.messages[answers[-1] + 1 :]
        if behind:
            tokens = sum(len(self.tokenizer.encode(message.text)) for message in behind)
            self.notes.leave_out("messages behind the last answer", "no request has them", tokens, count=len(behind))
        return answers


def _times(chat, answers):
    """When requests were sent and when they were answered, where messages say when they were complete."""
    inputs = [[message.sent_s for message in chat.messages[begin:end] if message.sent_s is not None] for begin, end in zip([0, *(number + 1 for number in answers)], answers)]
    return [max(times, default=None) for times in inputs], [chat.messages[number].sent_s for number in answers]


def _lapse(begin, end):
    return float(max(0, end - begin)) if None not in (begin, end) else None
