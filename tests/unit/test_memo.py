"""What is remembered for later calls is bounded: in number and in size, whatever clients and documents send."""

from __future__ import annotations

from answerd.memo import remembered


def test_a_call_with_a_large_argument_is_not_kept() -> None:
    calls = []

    @remembered(2, len, 3)
    def doubled(text: str) -> str:
        calls.append(text)
        return text * 2

    assert [doubled(text) for text in ("abc", "abc", "abcd", "abcd")] == ["abcabc", "abcabc", "abcdabcd", "abcdabcd"]
    assert calls == ["abc", "abcd", "abcd"]
