// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/test/framework"
)

// freeze declares blackouts of the whole cluster, in the words of the ConfigMap.
func (s *suite) freeze(blackouts string) {
	s.Helper()
	file := filepath.Join(s.TempDir(), "calendar.yaml")
	s.Must(os.WriteFile(file, []byte(framework.Text(map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "fairlead-calendar", "namespace": framework.Namespace},
		"data": map[string]any{"blackouts": blackouts},
	})), 0o600))
	s.Kubectl("apply", "-n", framework.Namespace, "-f", file)
}

// thaw takes all of them back.
func (s *suite) thaw() {
	s.Helper()
	s.Kubectl("delete", "configmap", "fairlead-calendar", "-n", framework.Namespace, "--ignore-not-found")
}

// explains waits until the message of a condition holds some words.
func (s *suite) explains(name, kind, words string) {
	s.Helper()
	s.shows(name, func(st autorebootv1.RebootPolicyStatus) error {
		if c := meta.FindStatusCondition(st.Conditions, kind); c == nil || !strings.Contains(c.Message, words) {
			return fmt.Errorf("want %s to say %q", kind, words)
		}
		return nil
	})
}
