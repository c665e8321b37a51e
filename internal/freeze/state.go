// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package freeze

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	yamlv3 "go.yaml.in/yaml/v3"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-dev/fairlead/internal/cron"
)

const (
	// Key of the ConfigMap that holds a list of blackouts, as YAML or JSON.
	Key = "blackouts"
	// maxBytes bounds what is read of the ConfigMap.
	maxBytes = 64 << 10
)

// State is the knowledge of blackouts at one time. It is immutable.
type State struct {
	// Blackouts of the cluster; nil where there are none.
	Blackouts *cron.Calendar
	// Unknown is the reason why the blackouts could not be read. Nothing may be disrupted then. It is empty if they were read.
	Unknown string
}

// Message returns which blackout of the cluster is in effect at t and when it ends, or why that is not known, as the
// message of a condition. It is empty if no blackout is in effect.
func (s State) Message(t time.Time) string {
	if s.Unknown != "" {
		return "the cluster's blackouts are unknown: " + s.Unknown
	}
	name := s.Blackouts.Blackout(t)
	if name == "" {
		return ""
	}
	ends := s.Blackouts.NextOutsideBlackout(t)
	if ends.IsZero() {
		return "the cluster's blackout " + name + " does not end within five years"
	}
	return "the cluster's blackout " + name + " ends at " + ends.UTC().Format(time.RFC3339)
}

// Blackouts parses the blackouts of a ConfigMap. An unknown key is an error: with a misspelled name, a freeze would
// silently not apply.
func Blackouts(declared *corev1.ConfigMap) ([]cron.Blackout, error) {
	if len(declared.BinaryData) > 0 {
		return nil, errors.New("binaryData: write the blackouts under data, as text")
	}
	keys := make([]string, 0, len(declared.Data))
	for key := range declared.Data {
		if key != Key {
			keys = append(keys, fmt.Sprintf("%q", key))
		}
	}
	if len(keys) > 0 {
		slices.Sort(keys)
		return nil, fmt.Errorf("data: unknown key %s: the list belongs under %q", strings.Join(keys[:min(len(keys), 3)], ", "), Key)
	}
	text := declared.Data[Key]
	if len(text) > maxBytes {
		return nil, fmt.Errorf("data.%s: %d bytes are too many: at most %d", Key, len(text), maxBytes)
	}
	var all []cron.Blackout
	if err := yaml.UnmarshalStrict([]byte(text), &all); err != nil {
		return nil, fmt.Errorf("data.%s: %w", Key, err)
	}
	nameAsWritten(all, text)
	return all, nil
}

// nameAsWritten restores the names of blackouts as they are in the text. The names on, 007 and 1e3 are values of other
// types to sigs.k8s.io/yaml, which returns them as true, 7 and 1000.
func nameAsWritten(all []cron.Blackout, text string) {
	var written []struct {
		Name yamlv3.Node `yaml:"name"`
	}
	if yamlv3.Unmarshal([]byte(text), &written) != nil || len(written) != len(all) {
		return
	}
	for i := range written {
		if name := &written[i].Name; name.Kind == yamlv3.ScalarNode && name.Tag != "!!null" {
			all[i].Name = name.Value
		}
	}
}
