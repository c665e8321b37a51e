// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package chaospod

import (
	"bytes"
	"encoding/json"

	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	"github.com/fairlead-dev/fairlead/api/chaos/v1alpha1"
)

// The forms are the API types with the pod template and the mapped times as the text they are.
// Parsed, a time would lose its fraction and its offset, and a template every field that is newer
// than our client libraries.

type hubForm struct {
	Spec   hubSpec   `json:"spec"`
	Status hubStatus `json:"status"`
}

// hubSpec shadows two fields of the spec it embeds; nothing reads those of the embedded one.
type hubSpec struct {
	chaosv1.ChaosPodSpec
	Target   hubTarget   `json:"target"`
	Schedule hubSchedule `json:"schedule"`
}

type hubTarget struct {
	chaosv1.Target
	Template json.RawMessage `json:"template,omitempty"`
}

type hubSchedule struct {
	chaosv1.Schedule
	At string `json:"at,omitempty"`
}

type hubStatus struct {
	chaosv1.ChaosPodStatus
	LastRunTime string `json:"lastRunTime,omitempty"`
}

type spokeForm struct {
	Spec   spokeSpec   `json:"spec"`
	Status spokeStatus `json:"status"`
}

type spokeSpec struct {
	Template json.RawMessage `json:"template,omitempty"`
	NextStop string          `json:"nextStop,omitempty"`
}

type spokeStatus struct {
	v1alpha1.ChaosPodStatus
	LastRun string `json:"lastRun,omitempty"`
}

// noTemplate is what v1alpha1 shows of an object that has no template. The list is empty rather
// than null: the API server prunes a null from converted objects, and would then refuse the view
// when it is written back, since a pod's spec requires its containers.
const noTemplate = `{"spec":{"containers":[]}}`

// hasTemplate reports whether there is a template.
func hasTemplate(template json.RawMessage) bool {
	return len(template) > 0 && !bytes.Equal(bytes.TrimSpace(template), []byte("null"))
}

// isBlankTemplate reports whether a template has no values. A client with its own types writes noTemplate back
// with an empty metadata or a null for the list.
func isBlankTemplate(template json.RawMessage) bool {
	if !hasTemplate(template) {
		return true
	}
	var value any
	return json.Unmarshal(template, &value) == nil && isEmptyValue(value)
}

func isEmptyValue(value any) bool {
	switch value := value.(type) {
	case nil:
		return true
	case map[string]any:
		for _, member := range value {
			if !isEmptyValue(member) {
				return false
			}
		}
		return true
	case []any:
		return len(value) == 0
	}
	return false
}
