// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"errors"
	"fmt"
	"testing"
	"time"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
)

// TestARestartThatWaitsSurvivesWhatTheSpecAndLabelsAreChangedTo changes a Secret while no window is open, and then what the
// restart is known by.
func TestARestartThatWaitsSurvivesWhatTheSpecAndLabelsAreChangedTo(t *testing.T) {
	t.Parallel()
	const source = "{name: %s, type: ConfigChange, configChange: {discovery: Explicit, sources: [{kind: Secret, name: %s%s}]}}"
	for name, change := range map[string]func(s *suite, name string){
		"renamed": func(s *suite, name string) {
			s.set(name, "{triggers: ["+fmt.Sprintf(source, "configuration", name, "")+"]}")
		},
		"narrowed": func(s *suite, name string) {
			s.set(name, "{triggers: ["+fmt.Sprintf(source, "config", name, ", keys: [password]")+"]}")
		},
		"relabeled": func(s *suite, name string) {
			s.Merge("apps/v1", deployment, name, "{metadata: {labels: {restart: null}}}")
			s.shows(name, func(st autorebootv1.RebootPolicyStatus) error {
				if len(st.Targets) != 0 || len(st.UnselectedTargets) != 1 {
					return fmt.Errorf("want one that is not selected")
				}
				return nil
			})
			s.Merge("apps/v1", deployment, name, "{metadata: {labels: {restart: "+name+"}}}")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSuite(t)
			s.secret(name, "password", "first")
			s.run(deployment, name, bare, labeled("restart", name))
			window, _ := far()
			s.policy(name, "{targets: [{kind: Deployment, selector: {matchLabels: {restart: "+name+"}}}], triggers: ["+fmt.Sprintf(source, "config", name, "")+"], windows: "+window+"}")
			s.watching(name, 1)
			s.secret(name, "password", "second")
			s.held(name, name, autorebootv1.ReasonOutsideWindow)
			change(s, name)
			s.shows(name, func(st autorebootv1.RebootPolicyStatus) error {
				if p, err := s.get(name); err != nil || st.ObservedGeneration != p.Generation {
					return fmt.Errorf("generation %d is observed: %w", st.ObservedGeneration, err)
				}
				return nil
			})
			s.held(name, name, autorebootv1.ReasonOutsideWindow)
			s.set(name, "{windows: null}")
			s.succeeded(name, 1)
			s.restarted(deployment, name, 1)
		})
	}
}

// nextSecond waits until the times of the API, which are whole seconds, differ from those before.
func (s *suite) nextSecond() {
	s.Helper()
	began := time.Now()
	s.Eventually(func() error {
		if time.Since(began) <= time.Second {
			return errors.New("the same second")
		}
		return nil
	})
}
