"""More than a hundred varied texts: languages, scripts, emoji, code, white space, nothing, a thousand words."""

_LANGUAGES = """\
The quick brown fox jumps over the lazy dog.
Der schnelle braune Fuchs springt über den faulen Hund.
Le vif renard brun saute par-dessus le chien paresseux.
El veloz zorro marrón salta sobre el perro perezoso.
Szybki brązowy lis przeskakuje nad leniwym psem.
A gyors barna róka átugrik a lusta kutya fölött.
Hızlı kahverengi tilki tembel köpeğin üzerinden atlar.
Быстрая коричневая лиса прыгает через ленивую собаку.
Η γρήγορη καφέ αλεπού πηδάει πάνω από το τεμπέλικο σκυλί.
השועל החום המהיר קופץ מעל הכלב העצלן.
الثعلب البني السريع يقفز فوق الكلب الكسول.
तेज़ भूरी लोमड़ी आलसी कुत्ते के ऊपर से कूदती है।
দ্রুত বাদামী শিয়াল অলস কুকুরের উপর লাফ দেয়।
விரைவான பழுப்பு நரி சோம்பேறி நாயின் மீது குதிக்கிறது.
สุนัขจิ้งจอกสีน้ำตาลกระโดดข้ามสุนัขขี้เกียจ
敏捷的棕色狐狸跳过了懒狗。
素早い茶色の狐がのろまな犬を飛び越える。
빠른 갈색 여우가 게으른 개를 뛰어넘는다.
Con cáo nâu nhanh nhẹn nhảy qua con chó lười.
""".splitlines()

_ODD = [
    *("", " ", "\n\t\r", "a", "?", "!!!???...", "0", "3.14159265358979", "-1e-9", "😀"),
    "👩‍👩‍👧‍👦 family, 🇫🇷 flag, 👍🏽 thumb",
    "e\u0301 is é in two code points",
    "ﬁ ligature, Ⅻ roman, ½ half, ① circled",
    "zero\u200bwidth\u200dspaces\ufeff",
    "\u202eright to left override",
    *("tab\tand\nnewline", "NUL\x00inside", "[CLS] [SEP] [PAD] [MASK] [UNK]", "##subword ##pieces"),
    "def f(x):\n    return x ** 2  # a comment",
    '{"json": [1, 2.5, null, true], "nested": {"a": "b"}}',
    "<html><body><p>markup &amp; entities</p></body></html>",
    "https://example.org/path?query=1&other=two#fragment",
    "user@example.org, +49 30 123456, 192.0.2.1",
    "SELECT * FROM t WHERE a = 'b'; -- injection",
    *("ALL CAPITALS LOOK LIKE SHOUTING", "mIxEd CaSe", "antidisestablishmentarianism " * 3),
    *("x" * 99, "x" * 101, "x" * 5000, "word " * 1000, "👍 " * 300, "日" * 600),
    *("the " * count for count in (254, 255, 126)),
]

_TOPICS = ["the weather", "cold rain", "a bank account", "an old violin", "tax law", "Jupiter", "bread", "a goal"]
_FRAMES = [
    "I would like to know more about {}.",
    "Nobody in the room had ever heard of {} before.",
    "{} was the reason why they met, and also the reason why, years later, they would not speak to each other.",
    "Is it true that {} has changed since last year, or do I only imagine it because I have been away for so long?",
    "News: {}",
    "Please do not tell my sister that I spent all of the money on {}; she would never forgive me.",
]

SENTENCES: list[str] = _LANGUAGES + _ODD + [frame.format(topic) for frame in _FRAMES for topic in _TOPICS]
