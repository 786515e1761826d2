"""How an answer of yolov5 is shown: its ten best objects, and the picture with all boxes in reports/demo/."""

import io
from pathlib import Path

from PIL import Image, ImageDraw, ImageOps

HERE = Path(__file__).resolve().parent
RANDOM = b" (random weights)"  # how the labels of random weights end
REPORTS = HERE.parents[3] / "reports" / "demo"


def show(inputs, outputs):
    for row, encoded in enumerate(inputs["IMAGE"]):
        found = int(outputs["COUNT"][row, 0])
        objects = list(zip(*(outputs[name][row, :found] for name in ("LABELS", "SCORES", "BOXES")), strict=True))
        for label, score, box in objects[:10]:
            yield f"{score:6.3f}  {label.decode():24} {' '.join(f'{side:7.1f}' for side in box)}"
        yield f"{found} objects, drawn in {draw(bytes(encoded), objects, row)}"


def draw(encoded, objects, row):
    """Write the picture and return its path, from the project's folder."""
    picture = ImageOps.exif_transpose(Image.open(io.BytesIO(encoded))).convert("RGB")
    canvas = ImageDraw.Draw(picture)
    for label, score, box in reversed(objects):  # the best are drawn last, over the others
        canvas.rectangle(box.tolist(), outline="red", width=2)
        text = f"{label.removesuffix(RANDOM).decode()} {score:.2f}"
        canvas.rectangle(canvas.textbbox((box[0] + 3, box[1] + 1), text), fill="white")
        canvas.text((box[0] + 3, box[1] + 1), text, fill="red")
    if any(label.endswith(RANDOM) for label, _, _ in objects):
        text = "RANDOM WEIGHTS: these boxes mean nothing"
        size = max(picture.width // 32, 10)
        canvas.rectangle(canvas.textbbox((4, 4), text, font_size=size), fill="yellow")
        canvas.text((4, 4), text, fill="black", font_size=size)
    same = [file.stem for file in HERE.iterdir() if file.suffix in (".jpg", ".png") and file.read_bytes() == encoded]
    REPORTS.mkdir(parents=True, exist_ok=True)
    file = REPORTS / f"{HERE.parents[1].name}-{same[0] if same else f'picture-{row}'}.png"
    picture.save(file)
    return file.relative_to(REPORTS.parents[1])
