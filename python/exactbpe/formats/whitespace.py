"""The whitespace of the specification as a pattern for the regular expressions of other programs."""

from __future__ import annotations

# All 29 code points, spelled so that Oniguruma, Rust, Python, Java and JavaScript read the same; what they
# mean by ``\s`` differs. tests/test_formats_tokenizer_json.py tries every code point.
WHITESPACE = r"[\u0009-\u000D\u001C-\u0020\u0085\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]"
WORD = "[^" + WHITESPACE[1:] + "+"
