// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"encoding/xml"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-dev/fairlead/cmd/fairlead/inspect"
)

func TestTheStatusIsAPageOfWhichNothingIsObeyed(t *testing.T) {
	hostile := "<script>alert(1)</script>\u202e\x1b[2J"
	status := &inspect.Status{
		Trees: []inspect.Branch{{
			Key: inspect.Key{Kind: inspect.ExternalService, Namespace: "shop", Name: "db"}, Health: inspect.Failed, Said: hostile,
			Branches: []inspect.Branch{
				{Key: inspect.Key{Kind: inspect.RebootPolicy, Namespace: "shop", Name: "login"}, Role: "gate db", Health: inspect.Waiting, Waiting: "for <db>"},
				{Key: inspect.Key{Kind: "Deployment", Namespace: "shop", Name: "api"}, Health: inspect.Healthy},
			},
		}, {
			Key: inspect.Key{Kind: inspect.RebootPolicy, Namespace: "shop", Name: "login"}, Health: inspect.Waiting,
		}},
		Unread: []inspect.Unread{{Resource: "chaospods", Message: hostile}},
	}
	var text strings.Builder
	if err := writeStatusPage(&text, status, time.Unix(0, 0)); err != nil {
		t.Fatal(err)
	}
	page := xml.NewDecoder(strings.NewReader(strings.TrimPrefix(text.String(), "<!doctype html>")))
	page.Strict, page.AutoClose, page.Entity = false, xml.HTMLAutoClose, xml.HTMLEntity
	var elements []string
	for {
		token, err := page.Token()
		if errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if start, is := token.(xml.StartElement); is {
			elements = append(elements, start.Name.Local)
			for _, a := range start.Attr {
				if strings.HasPrefix(a.Name.Local, "on") || a.Name.Local == "src" || a.Name.Local == "href" {
					t.Errorf("%s has %v", start.Name.Local, a)
				}
			}
		}
	}
	items := len(elements) - len(slices.DeleteFunc(slices.Clone(elements), func(name string) bool { return name == "li" }))
	if slices.Contains(elements, "script") || items != 5 || strings.ContainsAny(text.String(), "\u202e\x1b") {
		t.Errorf("%d items in %s", items, text.String())
	}
	for _, want := range []string{
		`<b class="Failed">1 Failed</b>, <b class="Waiting">1 Waiting</b>, <b class="Healthy">1 Healthy</b>`,
		"for &lt;db&gt;", "(gate db)", "1970-01-01T00:00:00Z", "Not known",
	} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("no %q in %s", want, text.String())
		}
	}
}
