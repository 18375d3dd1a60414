// build.py appends this to the search's worker, where lunr is. A part of a page counts as its page's weight (build.py),
// and the more, the more words of the query it has. Words match from their beginning and without their ending.
{
  const { add, field } = lunr.Builder.prototype
  const { search } = lunr.Index.prototype
  lunr.Builder.prototype.add = function (part) { add.call(this, part, { boost: part.boost }) }
  lunr.Builder.prototype.field = function (name) { field.call(this, name, { boost: name === "title" ? 20 : 1 }) }
  lunr.Index.prototype.search = function (query) {
    const stems = query.toLowerCase().split(/\W+/).filter(word => word && lunr.stopWordFilter(word))
      .map(word => word.replace(/(?<=\w{4})(ing|ed|es|e|s)$/, ""))
    const found = search.call(this, stems.map(stem => `${stem}*`).join(" "))
    for (const part of found) {
      const terms = Object.keys(part.matchData.metadata)
      part.score *= stems.filter(stem => terms.some(term => term.startsWith(stem))).length ** 2
    }
    return found
  }
}
