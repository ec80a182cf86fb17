"""What `kvsweep report` puts in a page: charts, figures over repeats, verdicts."""
import base64
import html.parser
import json
import pathlib
import zlib


class _Data(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.inside, self.text = False, ""

    def handle_starttag(self, tag, attrs):
        self.inside = tag == "script" and dict(attrs).get("id") == "kvsweep-data"

    def handle_endtag(self, tag):
        self.inside = False

    def handle_data(self, data):
        self.text += data if self.inside else ""


def load(path):
    """The report of a page, of the folder that holds it as index.html, or of a file of its JSON. ValueError if it is none."""
    path = pathlib.Path(path)
    if path.is_dir():  # a program without its web pages writes the data beside the page
        path = next((each for each in (path / "report.json", path / "index.html") if each.exists()), path / "index.html")
    text = path.read_text()
    if not text.startswith("{"):
        parser = _Data()
        parser.feed(text)
        text = parser.text
    try:
        found = json.loads(text)
        if set(found) == {"deflated"}:
            found = json.loads(zlib.decompress(base64.b64decode(found["deflated"])))
    except ValueError:
        found = {}
    if found.get("format") != "kvsweep-report":
        raise ValueError(f"{path} is no report of kvsweep: kvsweep report A.h5 -o report/ makes one")
    for chart in [*found["studies"], *found["accesses"], *(chart for panel in found["panels"] for chart in panel["charts"])]:
        for panel in chart["panels"]:
            for before, series in zip([{"x": []}, *panel["series"]], panel["series"]):
                series.setdefault("x", before["x"])  # left out where it is the same
    return found
