// In the head of Doxygen's pages: the colours that a reader has chosen in the guide (mkdocs-material keeps them under
// the path of the site), and titles that break after a namespace.
try {
  const { color } = JSON.parse(localStorage.getItem(new URL("..", location).pathname + ".__palette"))
  document.documentElement.classList.add(color.scheme === "slate" ? "dark-mode" : "light-mode")
} catch {
  // nothing chosen: those of the system
}
addEventListener("DOMContentLoaded", () => {
  for (const title of document.querySelectorAll(".headertitle .title"))
    title.innerHTML = title.innerHTML.replaceAll("::", "::<wbr>")
})
