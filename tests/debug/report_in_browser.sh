#!/bin/sh
# The pages of reports in a real browser, in a narrow window and in a wide one: `report_in_browser.sh TEST`. TEST is the
# program tests/debug/report, which writes pages into the current folder. Each image is decoded, nothing is cut off at
# the right, no line of a source is broken, and the browser has nothing to say about the page.
set -u
test=$1
browser=
for name in chromium chromium-browser google-chrome; do
  if command -v $name >/dev/null; then browser=$name; break; fi
done
[ -n "$browser" ] || { echo "SKIPPED: no Chromium is installed, the report was not looked at"; exit 77; }
"$test" >/dev/null 2>&1 || { echo "FAILED: $test"; exit 1; }

# The page in a frame of the wanted width, as a headless window has a width of its own at least. What the browser finds
# becomes the text of the outer page, beginning with "LOOKED".
look() {
  page=$1 width=$2
  cat >look.html <<END
<!DOCTYPE html><meta charset="utf-8"><body style="margin:0"><iframe id=page src="$page" width=$width height=2000
style="border:0"></iframe><pre id=said></pre><script>
onload = () => {
  const page = document.getElementById("page").contentDocument, width = page.documentElement.clientWidth, wrong = [];
  const pictures = page.querySelectorAll("img"), charts = page.querySelectorAll("svg");
  for (const one of pictures) if (!(one.complete && one.naturalWidth > 0)) wrong.push("an image is broken: " + one.alt);
  for (const one of [...pictures, ...charts, ...page.querySelectorAll(".card, .legend, h3")])
    if (one.getBoundingClientRect().right > width) wrong.push("cut off: " + one.outerHTML.slice(0, 80));
  for (const chart of charts) for (const one of chart.querySelectorAll("text")) {
    const inner = one.getBoundingClientRect(), outer = chart.getBoundingClientRect();
    if (inner.left < outer.left - 1 || inner.right > outer.right + 1) wrong.push("cut off: " + one.textContent);
  }
  for (const one of page.querySelectorAll("code.line"))
    if (one.getClientRects().length > 1) wrong.push("broken: " + one.textContent);
  if (page.documentElement.scrollWidth > width) wrong.push("the page is wider than its window");
  document.getElementById("said").textContent = ["LOOKED", width, pictures.length, charts.length,
    page.querySelectorAll("code.line").length].join(" ") + "\n" + wrong.join("\n");
};
</script></body>
END
  timeout 120 "$browser" --headless --no-sandbox --disable-gpu --hide-scrollbars --window-size=1600,2400 \
    --allow-file-access-from-files --user-data-dir="$PWD/browser" --enable-logging=stderr --dump-dom \
    "file://$PWD/look.html" >dom 2>log
  said=$(sed -n '/<pre id="said">/,/<\/pre>/p' dom | sed 's/.*<pre id="said">//; s/<\/pre>.*//')
  looked=$(echo "$said" | head -n 1)
  case $looked in
    "LOOKED $width "*) ;;
    *) tail -n 5 log; echo "FAILED: the browser did not look at $page at $width pixels: '$looked'"; exit 1 ;;
  esac
  wrong=$(echo "$said" | sed 1d | grep .) && { echo "FAILED: $page at $width pixels: $wrong"; exit 1; }
  if grep CONSOLE log; then echo "FAILED: the browser complains about $page"; exit 1; fi
}
charts=0 images=0
for page in page.html pynative.html failed.html images.html; do
  for width in 420 1440; do
    look $page $width
    set -- $looked
    images=$((images + $3)) charts=$((charts + $4))
    # not even one chart was looked at: then nothing was
    [ "$4" -gt 0 ] || { echo "FAILED: $page at $width pixels has no chart"; exit 1; }
    case $page in page.html | pynative.html) [ "$5" -gt 0 ] || { echo "FAILED: $page has no lines"; exit 1; } ;; esac
  done
done
if [ "$images" -eq 0 ]; then
  grep -q 'need libpng' images.html || { echo "FAILED: images.html has no image"; exit 1; }
  echo "SKIPPED: the program has no libpng, no image was looked at"
fi
rm -rf browser
echo "$charts charts and $images images, at 420 and 1440 pixels: all of them are there."
