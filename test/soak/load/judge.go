// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package load

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/fairlead-dev/fairlead/test/soak/counters"
)

// wanted describes the expected answer.
type wanted struct {
	codes []int
	// says are parts of the message of a refusal by a webhook.
	says []string
	// holds looks into an answer that has one of the codes; nil looks at nothing.
	holds func(body []byte) error
}

// answer is a response. err is set if there is none.
type answer struct {
	code int
	body []byte
	err  error
}

// denied is how the API server begins when it passes on a webhook's refusal.
const denied = "admission webhook "

// judge says what became of a request, and what was wrong with the answer.
func judge(w wanted, a answer) (counters.Outcome, string) {
	if a.err != nil {
		return counters.Unavailable, general(a.err.Error())
	}
	message := messageOf(a.body)
	if slices.Contains(w.codes, a.code) && refusesAs(w.says, message) {
		if w.holds == nil {
			return counters.OK, ""
		}
		if err := w.holds(a.body); err != nil {
			return counters.Failed, general(err.Error())
		}
		return counters.OK, ""
	}
	reason := general(fmt.Sprintf("%d %s", a.code, message))
	switch {
	case strings.Contains(message, "webhook"):
		return counters.Failed, reason // whatever it says about a webhook is about the webhook
	case a.code == http.StatusTooManyRequests:
		return counters.Deferred, reason
	case a.code >= http.StatusInternalServerError:
		return counters.Unavailable, reason
	}
	return counters.Failed, reason
}

func refusesAs(says []string, message string) bool {
	if len(says) == 0 {
		return true
	}
	for _, part := range append([]string{denied}, says...) {
		if !strings.Contains(message, part) {
			return false
		}
	}
	return true
}

// messageOf is the message of a Status, or the beginning of whatever else came.
func messageOf(body []byte) string {
	var status struct {
		Kind    string `json:"kind"`
		Message string `json:"message"`
	}
	if json.Unmarshal(body, &status) == nil && status.Kind == "Status" {
		return status.Message
	}
	return string(body[:min(len(body), 300)])
}

// particular matches the parts that differ between messages of the same reason: names of objects, ports and times.
var particular = regexp.MustCompile(`\b(?:es|rp|cp|no)-\d+-\d+\b|127\.0\.0\.1:\d+|\[::1\]:\d+|localhost:\d+|\d+(?:\.\d+)?(?:ms|µs|s)\b|svc:\d+`)

// general makes messages of the same reason equal, and bounds them.
func general(message string) string {
	message = particular.ReplaceAllStringFunc(message, func(found string) string {
		if i := strings.LastIndexByte(found, ':'); i > 0 {
			return found[:i] + ":…"
		}
		return "…"
	})
	if len(message) > 400 {
		message = strings.ToValidUTF8(message[:400], "") + "…"
	}
	return message
}
