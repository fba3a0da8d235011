"""check_page.py PAGE REPORT NAME: the page of an example's run is whole, its parts parse, and it has the figures that the
report (JSON) tells. tests/page opens some of them in a browser."""
import json
import re
import sys

page_path, report_path, name = sys.argv[1:]
with open(page_path, encoding="utf-8") as file:
    page = file.read()
with open(report_path, encoding="utf-8") as file:
    report = json.load(file)
assert page.endswith("</html>\n"), f"{name}: the page is cut off"
data = json.loads(re.search(r'<script id="data" type="application/json">(.*?)</script>', page, re.S)[1])
parts = data["parts"]
kinds = {part["kind"] for part in parts}
assert {"section", "tiles", "text"} <= kinds, f"{name}: {kinds}"
text = json.dumps(parts)
assert f'{report["requests"]["arrived"]:,}' in text, f"{name}: not how many requests came"
