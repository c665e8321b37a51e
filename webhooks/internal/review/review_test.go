// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package review

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestReadRefusesWhatIsNoReview(t *testing.T) {
	tests := map[string]struct {
		change func(*http.Request)
		body   string
		code   int
		says   string
	}{
		"get":              {body: "{}", change: func(r *http.Request) { r.Method = http.MethodGet }, code: 405, says: "POST"},
		"no content type":  {body: "{}", change: func(r *http.Request) { r.Header.Del("Content-Type") }, code: 415, says: "application/json"},
		"text":             {body: "{}", change: func(r *http.Request) { r.Header.Set("Content-Type", "text/plain") }, code: 415, says: "text/plain"},
		"compressed":       {body: "{}", change: func(r *http.Request) { r.Header.Set("Content-Encoding", "gzip") }, code: 415, says: "gzip"},
		"empty":            {body: "", code: 400, says: "empty"},
		"too large":        {body: strings.Repeat(" ", 101), code: 413, says: "100 bytes"},
		"too large, blind": {body: strings.Repeat(" ", 101), change: func(r *http.Request) { r.ContentLength = -1 }, code: 413, says: "100 bytes"},
		"broken off":       {body: "{", change: func(r *http.Request) { r.Body = brokenBody{} }, code: 400, says: "broke off"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(test.body))
			r.Header.Set("Content-Type", "application/json")
			if test.change != nil {
				test.change(r)
			}
			var refusal *Refusal
			if _, err := ReadBody(r, 100); !errors.As(err, &refusal) {
				t.Fatalf("error is %v, not a refusal", err)
			}
			if refusal.Code != test.code || !strings.Contains(refusal.Message, test.says) {
				t.Errorf("refused with %d %q, want %d and %q in it", refusal.Code, refusal.Message, test.code, test.says)
			}
		})
	}
}

type brokenBody struct{}

func (brokenBody) Read([]byte) (int, error) { return 0, errors.New("connection reset") }
func (brokenBody) Close() error             { return nil }

func TestReadTakesABodyOfExactlyTheLimit(t *testing.T) {
	r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(strings.Repeat("x", 100)))
	r.Header.Set("Content-Type", "application/json; charset=utf-8")
	if body, err := ReadBody(r, 100); err != nil || len(body) != 100 {
		t.Errorf("read %d bytes: %v", len(body), err)
	}
}

func TestReadTakesBodiesOfAnySizeWithAndWithoutALength(t *testing.T) {
	const limit = 24 * firstRead
	for _, size := range []int{1, firstRead - 1, firstRead, firstRead + 1, limit - 1, limit, limit + 1} {
		for _, declared := range []bool{true, false} {
			body := bytes.Repeat([]byte("0123456789"), size/10+1)[:size]
			r := httptest.NewRequest(http.MethodPost, "/", bytes.NewReader(body))
			r.Header.Set("Content-Type", "application/json")
			if !declared {
				r.ContentLength = -1
			}
			got, err := ReadBody(r, limit)
			if size > limit {
				var refusal *Refusal
				if !errors.As(err, &refusal) || refusal.Code != http.StatusRequestEntityTooLarge {
					t.Errorf("%d bytes (declared: %t): %v", size, declared, err)
				}
				continue
			}
			if err != nil || !bytes.Equal(got, body) {
				t.Errorf("%d bytes (declared: %t): %d read, %v", size, declared, len(got), err)
			}
			if cap(got) > limit+limit/2 {
				t.Errorf("%d bytes (declared: %t) took a buffer of %d", size, declared, cap(got))
			}
		}
	}
}

func TestDeadlineIsWhatTheCallerAllowsLessATenth(t *testing.T) {
	tests := map[string]struct {
		query string
		want  time.Duration
	}{
		"none":     {"", 30 * time.Second},
		"shorter":  {"timeout=10s", 9 * time.Second},
		"longer":   {"timeout=60s", 30 * time.Second},
		"nonsense": {"timeout=soon", 30 * time.Second},
		"negative": {"timeout=-1s", 30 * time.Second},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			ctx, cancel := WithTimeout(t.Context(), &url.URL{RawQuery: test.query}, 30*time.Second)
			defer cancel()
			deadline, _ := ctx.Deadline()
			if got := deadline.Sub(start); got < test.want || got > test.want+5*time.Second {
				t.Errorf("deadline in %s, want %s", got, test.want)
			}
		})
	}
}

func TestDeadlineSaysHowLongItWas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := WithTimeout(t.Context(), &url.URL{RawQuery: "timeout=10s"}, time.Minute)
		defer cancel()
		<-ctx.Done()
		if cause := context.Cause(ctx); !errors.Is(cause, context.DeadlineExceeded) || !strings.Contains(cause.Error(), "9s") {
			t.Errorf("it ended for %v", cause)
		}
	})
}

func TestCutKeepsWholeCharacters(t *testing.T) {
	for limit := 3; limit < 12; limit++ {
		got := Cut("äöü€äöü", limit)
		if len(got) > limit || strings.ContainsRune(got, '\uFFFD') || !strings.HasSuffix(got, "…") {
			t.Errorf("cut to %d bytes: %q", limit, got)
		}
	}
	if got := Cut("abc", 3); got != "abc" {
		t.Errorf("cut what fits: %q", got)
	}
}
