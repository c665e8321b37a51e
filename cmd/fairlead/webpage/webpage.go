// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package webpage has the frame of the pages that commands write to a file: each is whole, has no script, and loads nothing.
package webpage

import (
	"bufio"
	_ "embed"
	"html/template"
	"io"

	"github.com/fairlead-dev/fairlead/cmd/fairlead/inspect"
)

//go:embed page.html
var frame string

// Page is a template of a page.
type Page struct{ parsed *template.Template }

// New returns the page with a content, which is a template of html/template. It has the function printable, which is
// inspect.Printable. It panics where the content cannot be parsed.
func New(content string) *Page {
	page := template.Must(template.New("page").Funcs(template.FuncMap{"printable": inspect.Printable}).Parse(frame))
	return &Page{template.Must(page.New("content").Parse(content))}
}

// Data is what a page shows.
type Data struct {
	// Title of the page.
	Title string
	// Content is what the template of the content has as its dot.
	Content any
	// Unread is what could not be read, which comes last.
	Unread []inspect.Unread
}

// Write writes the page.
func (p *Page) Write(to io.Writer, data *Data) error {
	buffered := bufio.NewWriter(to)
	if err := p.parsed.ExecuteTemplate(buffered, "page", data); err != nil {
		return err
	}
	return buffered.Flush()
}
