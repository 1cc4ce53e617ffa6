"""The sampler says what transformers says, ends where it should, and refuses with a reason."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from shared.engine.batch import Completion, Failure, Outcome, SampleJob, Sampler
from shared.errors import BadInput
from shared.messages import Sampling, Turn
from tests.shared.engine.tiny_models import CLOSE, END, job, many_jobs, tiny_model, tiny_tokenizer


def sampler(model: Any = None, **how: Any) -> Sampler:
    """A sampler of one policy for any name."""
    return Sampler(lambda _: (model or tiny_model(), tiny_tokenizer()), **how)


def completion(outcome: Outcome) -> Completion:
    """The outcome, which must not be a failure."""
    assert isinstance(outcome, Completion), outcome
    return outcome


class Steered:
    """The tiny model with one bias a token, so that a test decides what is likely."""

    def __init__(self, **likes: float) -> None:
        self._model = tiny_model()
        self._bias = torch.zeros(len(tiny_tokenizer()))
        for text, bias in likes.items():
            self._bias[tiny_tokenizer()(text)["input_ids"][0]] = bias

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    def __call__(self, **inputs: Any) -> Any:
        """The model's output with the biases added to its logits."""
        out = self._model(**inputs)
        out.logits = out.logits + self._bias
        return out


@pytest.mark.parametrize("temperature", [1.0, 0.7])
def test_recorded_log_probabilities_are_those_of_a_plain_forward_pass(temperature: float) -> None:
    """Each log-probability is within 1e-4 of log_softmax(logits / T) of the whole sequence at once."""
    done = completion(sampler().run([job(text="ab 1+" * 15, max_tokens=80, temperature=temperature)])[0])
    ids = torch.tensor([done.prompt_ids + done.completion_ids])
    with torch.inference_mode():
        logits = tiny_model()(ids).logits[0, len(done.prompt_ids) - 1 : -1]
    plain = torch.log_softmax(logits / temperature, -1).gather(1, torch.tensor(done.completion_ids)[:, None])[:, 0]
    assert torch.allclose(plain, torch.tensor(done.logprobs), atol=1e-4)


def test_greedy_is_what_generate_gives() -> None:
    """At temperature 0 the tokens are those of transformers' generate without sampling."""
    jobs = [each._replace(sampling=Sampling(temperature=0.0, max_tokens=30)) for each in many_jobs(8, seed=1)]
    for outcome in map(completion, sampler().run(jobs)):
        ids = torch.tensor([outcome.prompt_ids])
        theirs = tiny_model().generate(
            ids, attention_mask=torch.ones_like(ids), do_sample=False, max_new_tokens=30, pad_token_id=0
        )
        assert outcome.completion_ids == tuple(theirs[0, ids.shape[1] :].tolist())


def test_the_end_token_is_kept_among_the_ids_and_left_out_of_the_text() -> None:
    """A completion that the model ends holds the end token, with its log-probability, and finishes with stop."""
    model = Steered()
    model._bias[END] = 4.0
    done = completion(sampler(model).run([job(max_tokens=60)])[0])
    assert (done.completion_ids[-1], done.finish) == (END, "stop")
    assert len(done.logprobs) == len(done.completion_ids)
    assert "</s>" not in done.text


def test_a_stop_text_of_one_token_ends_the_completion() -> None:
    """Nothing follows the stop text, and it is kept."""
    model = Steered(**{CLOSE: 4.0})
    done = completion(sampler(model).run([job(max_tokens=200, stop=(CLOSE,))])[0])
    assert done.finish == "stop"
    assert done.text.endswith(CLOSE)
    assert done.text.count(CLOSE) == 1


def test_a_stop_text_of_several_tokens_ends_the_completion() -> None:
    """The same when it is spelt by several tokens, of which the first of several stop texts counts."""
    model = Steered(**{"7": 9.0, "\n": 9.0})
    done = completion(sampler(model).run([job(max_tokens=200, stop=("zzz", "7\n7"))])[0])
    assert done.finish == "stop"
    assert done.text.endswith("7\n7")
    assert done.text.find("7\n7") == len(done.text) - 3


def test_length_is_said_when_the_room_is_used_up() -> None:
    """Without an end or a stop text the completion has max_tokens tokens and finishes with length."""
    model = Steered()
    model._bias[END] = -99.0
    done = completion(sampler(model).run([job(max_tokens=17)])[0])
    assert (len(done.completion_ids), done.finish) == (17, "length")


def test_a_prompt_that_does_not_fit_fails_and_is_never_cut() -> None:
    """One token too many for prompt and completion fails with the numbers; exactly full is answered."""
    short = tiny_model(context=64)
    fits, over = job("a", text="1" * 39, max_tokens=24), job("b", text="1" * 40, max_tokens=24)
    outcomes = sampler(short).run([fits, over])
    assert isinstance(outcomes[0], Completion)
    assert isinstance(outcomes[1], Failure)
    assert outcomes[1].reason.startswith("41 prompt tokens and 24 to write do not fit the context of 64")


def test_a_request_for_nothing_fails() -> None:
    """No token to write is refused with a reason."""
    assert isinstance(sampler().run([job(max_tokens=0)])[0], Failure)


def test_a_policy_that_cannot_be_loaded_fails_its_requests_and_no_others() -> None:
    """Every request of that policy gets the reason; the others are answered."""

    def load(name: str) -> tuple[Any, Any]:
        if name == "gone":
            raise BadInput("policy 'gone' is not in the store")
        return tiny_model(), tiny_tokenizer()

    jobs = [job("0", policy="gone"), job("1"), job("2", policy="gone")]
    outcomes = Sampler(load).run(jobs)
    assert [type(outcome) for outcome in outcomes] == [Failure, Completion, Failure]
    assert outcomes[0] == Failure("policy gone: policy 'gone' is not in the store")


def test_an_engine_fault_fails_the_rows_of_its_policy_and_work_goes_on() -> None:
    """An exception in a forward pass becomes the reason of that policy's requests; later ones are answered again."""

    class Faulty(Steered):
        calls = 0

        def __call__(self, **inputs: Any) -> Any:
            """Breaks at the second call."""
            self.calls += 1
            if self.calls == 2:
                raise RuntimeError("out of memory")
            return super().__call__(**inputs)

    subject = sampler(Faulty())
    assert subject.run([job("0"), job("1")]) == [Failure("policy p: RuntimeError: out of memory")] * 2
    assert isinstance(subject.run([job("2")])[0], Completion)


def test_the_line_is_kept() -> None:
    """With room for one row requests are answered in the order they came."""
    subject = sampler(max_rows=1)
    jobs: list[SampleJob] = [job(str(i), max_tokens=3) for i in range(4)]
    for each in jobs:
        subject.submit(each)
    order = []
    while subject.busy:
        order += [key for key, _ in subject.step()]
    assert order == ["0", "1", "2", "3"]


def test_turns_without_a_chat_template_are_joined_by_blank_lines() -> None:
    """The prompt's ids are those of the joined text with a newline at its end."""
    request = job()._replace(turns=(Turn("system", "ab"), Turn("user", "cd")))
    done = completion(sampler().run([request])[0])
    assert list(done.prompt_ids) == tiny_tokenizer()("ab\n\ncd\n")["input_ids"]


def test_layers_that_do_not_see_everything_are_refused() -> None:
    """A model with a sliding window fails with a reason instead of attending to too much."""
    import transformers

    config = transformers.MistralConfig(
        hidden_size=32, num_hidden_layers=1, num_attention_heads=2, num_key_value_heads=2, intermediate_size=32,
        vocab_size=110, sliding_window=16, max_position_embeddings=64,
    )  # fmt: skip
    outcome = sampler(transformers.MistralForCausalLM(config).eval()).run([job()])[0]
    assert isinstance(outcome, Failure)
    assert "full attention" in outcome.reason
