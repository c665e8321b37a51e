// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package load

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/fairlead-dev/fairlead/test/soak/counters"
)

const (
	// requestTimeout outlasts the 30 s that an API server waits for a conversion.
	requestTimeout = 45 * time.Second
	maxBody        = 8 << 20
)

// call is one request.
type call struct {
	kind    string // of the request, such as "create v1"
	method  string
	path    string
	query   url.Values
	media   string // of the body
	body    object
	wanted  wanted
	outcome counters.Outcome // once it was sent
	answer  answer
}

// path of a kind's objects, or of the one with the name.
func (l *load) path(k kind, version, name string) string {
	path := "/apis/" + k.at(version) + "/namespaces/" + l.options.Namespace + "/" + k.resource
	if name != "" {
		path += "/" + name
	}
	return path
}

// send sends a call once, whatever becomes of ctx meanwhile, and counts it. An API server that is
// away is left alone for a moment.
func (l *load) send(ctx context.Context, c *call) {
	sent := time.Now()
	c.answer = l.exchange(context.WithoutCancel(ctx), c)
	var reason string
	c.outcome, reason = judge(c.wanted, c.answer)
	l.options.Counters.Add(counters.Request{Kind: c.kind, Outcome: c.outcome, Reason: reason, Sent: sent, Took: time.Since(sent)})
	if c.outcome == counters.Unavailable || c.outcome == counters.Deferred {
		select {
		case <-ctx.Done():
		case <-time.After(unavailablePause):
		}
	}
}

func (l *load) exchange(ctx context.Context, c *call) answer {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	var body io.Reader
	if c.body != nil {
		raw, err := json.Marshal(c.body)
		if err != nil {
			return answer{err: err}
		}
		// Without GetBody, net/http has nothing to send a second time.
		body = io.MultiReader(bytes.NewReader(raw))
	}
	target := l.base + c.path
	if len(c.query) > 0 {
		target += "?" + c.query.Encode()
	}
	request, err := http.NewRequestWithContext(ctx, c.method, target, body)
	if err != nil {
		return answer{err: err}
	}
	if c.media != "" {
		request.Header.Set("Content-Type", c.media)
	}
	request.Header.Set("Accept", "application/json")
	request.Header.Set("User-Agent", "fairlead-soak")
	response, err := l.client.Do(request)
	if err != nil {
		return answer{err: fmt.Errorf("%s", strings.TrimSpace(shortened(err)))}
	}
	defer func() { _ = response.Body.Close() }()
	raw, err := io.ReadAll(io.LimitReader(response.Body, maxBody))
	if err != nil {
		return answer{err: fmt.Errorf("read the answer: %w", err)}
	}
	return answer{code: response.StatusCode, body: raw}
}

// shortened leaves the URL out of an error, which differs for every object.
func shortened(err error) string {
	text := err.Error()
	if i := strings.LastIndex(text, `": `); i >= 0 {
		return text[i+3:]
	}
	return text
}
