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

// State is the knowledge of the blackouts at one moment. It is immutable.
type State struct {
	// Blackouts of the cluster; nil where there are none.
	Blackouts *cron.Calendar
	// Unknown is why the blackouts are not known; nothing may be disrupted then. It is empty where they
	// are.
	Unknown string
}

// Message returns, for a condition, which blackout of the cluster holds at t and when it ends, or why that is not
// known. It is empty where none holds.
func (s State) Message(t time.Time) string {
	if s.Unknown != "" {
		return "the cluster's blackouts are not known: " + s.Unknown
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

// Blackouts reads those of a ConfigMap. What it cannot be sure of is an error: a key with a misspelled name
// would be a freeze that does not hold.
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

// nameAsWritten sets the names of blackouts to what their text has: on, 007 and 1e3 are names too, which sigs.k8s.io/yaml
// reads as values of other types and returns as true, 7 and 1000.
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
