// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build nightly

package rebootpolicy

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
)

// TestNoRestartBeginsWhileAQueryReturnsSomething has a server that says so, fails, and refuses the query.
func TestNoRestartBeginsWhileAQueryReturnsSomething(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	const query = "ALERTS{severity='critical'}"
	s.results(query, firing)
	s.secret("creds", "password", "first")
	s.run(deployment, "web", takes("creds"))
	s.policy("p", fmt.Sprintf("{%s, %s, cooldown: 0s, gates: [{name: quiet, type: PrometheusQueryEmpty, prometheusQueryEmpty: {query: %q}}]}",
		targets(deployment, "web"), onConfig, query))
	s.watching("p", 1)
	s.secret("creds", "password", "second")
	for _, step := range []struct{ body, because string }{
		{firing, "gate quiet: its query returns results"},
		{"", "gate quiet: the Prometheus server responds with a server error: 503"},
		{unparsable, "gate quiet: its query is refused: 1:8: parse error: unclosed left brace"},
	} {
		s.results(query, step.body)
		s.held("p", "web", autorebootv1.ReasonGateClosed)
		s.shows("p", func(st autorebootv1.RebootPolicyStatus) error {
			if c := meta.FindStatusCondition(st.Conditions, autorebootv1.ConditionWaiting); c == nil || !strings.Contains(c.Message, step.because) {
				return fmt.Errorf("it does not wait because %s", step.because)
			}
			return nil
		})
	}
	s.restarted(deployment, "web", 0)
	s.results(query, noResults)
	s.succeeded("p", 1)
	s.restarted(deployment, "web", 1)
}
