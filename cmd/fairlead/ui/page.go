// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"bytes"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/fairlead-dev/fairlead/cmd/fairlead/inspect"
)

const (
	// pageRows bounds the rows of a page.
	pageRows = 200
	// maxFirst bounds the first row that an address may name.
	maxFirst = 10_000_000
	// maxIndent is the deepest that a row is indented, which style.css has a class for.
	maxIndent = 5
	// maxFilter bounds what is filtered by, in bytes.
	maxFilter = 253
)

// view is the model at one version.
type view struct {
	version  uint64
	read     time.Time
	snapshot *inspect.Snapshot
	graph    *inspect.Graph
	status   *inspect.Status
	counts   map[inspect.Health]int
}

// current returns the model that pages were told of. It is made at most once for each time that they are.
func (s *Server) current() view {
	s.mu.Lock()
	defer s.mu.Unlock()
	if version := s.streams.told.Load(); s.kept == nil || s.kept.version != version {
		v := &view{version: version, read: s.options.Now()}
		s.kept = nil // so that there are not two models at a time
		v.snapshot = s.live.Snapshot()
		v.graph = inspect.New(v.snapshot)
		v.graph.SetLeaders(s.live.Leaders())
		v.graph.Expect(time.Now())
		v.status = v.graph.Status(labels.Everything())
		v.counts = v.status.Counts()
		s.kept = v
	}
	return *s.kept
}

// query has the page and the parameters of an address.
type query struct {
	page                   string
	filter, health, object string
	first                  int
}

func parse(r *http.Request, page string) query {
	q := r.URL.Query()
	first, _ := strconv.Atoi(q.Get("first"))
	filter := q.Get("filter")
	filter = strings.ToLower(strings.TrimSpace(filter[:min(len(filter), maxFilter)]))
	return query{page, filter, q.Get("health"), q.Get("object"), min(max(first, 0), maxFirst)}
}

// with returns the address of the same page with another parameter, from the first row on.
func (q query) with(name, value string) string {
	values := url.Values{"filter": {q.filter}, "health": {q.health}, "object": {q.object}, "first": {strconv.Itoa(q.first)}}
	if name != "object" {
		values.Set("first", "")
	}
	values.Set(name, value)
	for name := range values {
		if values.Get(name) == "" || name == "first" && values.Get(name) == "0" {
			values.Del(name)
		}
	}
	return "?" + values.Encode()
}

// Whole is the address without an object.
func (q query) Whole() string { return q.with("object", "") }

// matches reports whether each word of the filter is in the kind, namespace or name of an object.
func (q query) matches(k inspect.Key) bool {
	text := strings.ToLower(k.Kind + "/" + k.Namespace + "/" + k.Name)
	for word := range strings.FieldsSeq(q.filter) {
		if !strings.Contains(text, word) {
			return false
		}
	}
	return true
}

// Hidden are the parameters that filtering keeps.
func (q query) Hidden() map[string]string {
	kept := map[string]string{}
	for name, value := range map[string]string{"health": q.health, "object": q.object} {
		if value != "" {
			kept[name] = value
		}
	}
	return kept
}

// path is how an address names an object.
func path(k inspect.Key) string { return k.Kind + "/" + k.Namespace + "/" + k.Name }

// line is one of the tree, and row one that a page shows.
type line struct {
	*inspect.Branch
	Depth int
}

type row struct {
	line
	Href, ID   string
	IsSelected bool
}

// Shown is how far a row is indented.
func (r row) Shown() int { return min(r.Depth, maxIndent) }

// lines adds those branches that match, and all above them.
func (q query) lines(all []line, branches []inspect.Branch, depth int) []line {
	for i := range branches {
		b := &branches[i]
		before := len(all)
		all = append(all, line{b, depth})
		all = q.lines(all, b.Branches, depth+1)
		if isShown := q.matches(b.Key) && (q.health == "" || string(b.Health) == q.health); !isShown && len(all) == before+1 {
			all = all[:before]
		}
	}
	return all
}

// health is a link that shows the objects of a health alone.
type health struct {
	inspect.Health
	Count      int
	Href       string
	IsSelected bool
}

// content is the data of a page template.
type content struct {
	Title, Cluster, Namespace, Page string
	Query                           query
	Filter, Object                  string
	Now, Read                       time.Time
	Unread                          []inspect.Unread
	Notes                           []string
	Healths                         []health
	Rows                            []row
	Graph                           *graph
	Why                             *inspect.Explanation
	Missing                         string
	Occurrences                     []inspect.Occurrence
	First, Last, Total              int
	Previous, Next                  string
}

// write writes a page.
func (s *Server) write(w http.ResponseWriter, r *http.Request, page string) {
	q, v := parse(r, page), s.current()
	c := &content{Title: "Objects", Cluster: s.options.Cluster, Namespace: s.options.Namespace, Page: page, Query: q, Filter: q.filter,
		Object: q.object, Now: s.options.Now(), Read: v.read, Unread: v.graph.Unread}
	for _, l := range inspect.Lacking(v.status.Leaders) {
		c.Notes = append(c.Notes, l.Sentence())
	}
	switch page {
	case "timeline":
		c.Title = "Timeline"
		c.Occurrences, c.Total = v.graph.Timeline(func(o *inspect.Object) bool { return q.matches(o.Key) }, q.first, pageRows)
	default:
		c.objects(q, &v)
	}
	c.Last = min(q.first+pageRows, c.Total)
	c.First = min(q.first+1, c.Last)
	if q.first > 0 {
		c.Previous = q.with("first", strconv.Itoa(max(q.first-pageRows, 0)))
	}
	if c.Last < c.Total {
		c.Next = q.with("first", strconv.Itoa(c.Last))
	}
	var body bytes.Buffer
	if err := pages.Execute(&body, c); err != nil {
		http.Error(w, "The page could not be made: "+err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write(body.Bytes()) // the page is gone
}

// cut returns the part of a list that a page shows.
func cut[T any](all []T, first int) []T {
	first = min(first, len(all))
	return all[first:min(first+pageRows, len(all))]
}

// objects fills in the tree, and why the object that is selected is as it is.
func (c *content) objects(q query, v *view) {
	c.Healths = []health{{"", 0, q.with("health", ""), q.health == ""}}
	for _, h := range inspect.Healths {
		c.Healths[0].Count += v.counts[h]
		c.Healths = append(c.Healths, health{h, v.counts[h], q.with("health", string(h)), q.health == string(h)})
	}
	all := q.lines(nil, v.status.Trees, 0)
	c.Total = len(all)
	shown := map[inspect.Key]int{}
	for _, l := range cut(all, q.first) {
		at := path(l.Key)
		c.Rows = append(c.Rows, row{l, q.with("object", at), fmt.Sprintf("%s/%d", at, shown[l.Key]), q.object == at})
		shown[l.Key]++
	}
	var chosen *inspect.Object
	if parts := strings.Split(q.object, "/"); len(parts) == 3 {
		if chosen = v.graph.Find(inspect.Key{Kind: parts[0], Namespace: parts[1], Name: parts[2]}); chosen != nil {
			x := v.graph.Explain(chosen)
			c.Why = &x
		} else {
			c.Missing = q.object
		}
	}
	if q.page == "graph" {
		c.Title, c.Graph, c.Total = "Graph", draw(q, v, chosen), 0
	}
}

var pages = template.Must(template.New("page.html").Funcs(template.FuncMap{
	"path":  path,
	"ago":   func(t *metav1.Time, now time.Time) string { return inspect.TimeText(t, now) },
	"utc":   func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05Z") },
	"iso":   func(t *metav1.Time) string { return t.UTC().Format(time.RFC3339) },
	"add":   func(depth int) int { return depth + 1 },
	"home":  func(k inspect.Key) string { return "./" + query{}.with("object", path(k)) },
	"pair":  func(x inspect.Explanation, c *content) map[string]any { return map[string]any{"X": x, "C": c} },
	"head":  func(f inspect.Finding, now time.Time) string { return f.Head(now) },
	"say":   func(f inspect.Finding) []string { return f.Sentences() },
	"lower": func(h inspect.Health) string { return strings.ToLower(string(h)) },
	"cause": func(f inspect.Finding) []string { f.Override = ""; return f.Sentences() },
	"open":  func(q query, k inspect.Key) string { return q.with("object", path(k)) },
}).ParseFS(assets, "assets/page.html"))
