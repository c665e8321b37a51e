// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/fairlead-dev/fairlead/cmd/fairlead/options"
)

func TestTheBuildInfoHasTheKindsAndTheLayout(t *testing.T) {
	for name, c := range map[string]struct {
		configure func(*options.Configuration)
		want      string
	}{
		"one process":    {func(*options.Configuration) {}, `kinds="ChaosPod,ExternalService,RebootPolicy",layout="single"`},
		"webhooks":       {func(c *options.Configuration) { c.Controllers.Enabled = false }, `kinds="ChaosPod,ExternalService,RebootPolicy",layout="webhooks"`},
		"controllers":    {func(c *options.Configuration) { c.Webhook.Enabled = false }, `kinds="ChaosPod,ExternalService,RebootPolicy",layout="controllers"`},
		"a part of them": {func(c *options.Configuration) { c.Kinds = []string{"RebootPolicy", "ChaosPod"} }, `kinds="ChaosPod,RebootPolicy",layout="single"`},
	} {
		configuration, registry := options.Default(), prometheus.NewRegistry()
		c.configure(configuration)
		if err := registerBuildInfo(registry, configuration, "v1.2.3", "abc"); err != nil {
			t.Fatal(err)
		}
		want := "# HELP fairlead_build_info 1, with the build of this process, the kinds that it works on, and its part of the layout.\n" +
			"# TYPE fairlead_build_info gauge\nfairlead_build_info{commit=\"abc\"," + c.want + ",version=\"v1.2.3\"} 1\n"
		if err := testutil.GatherAndCompare(registry, strings.NewReader(want)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestTheMetricsOfGoAreTheDefaultOnes(t *testing.T) {
	for range 2 {
		if err := reduceGoMetrics(ctrlmetrics.Registry); err != nil {
			t.Fatal(err)
		}
	}
	families, err := ctrlmetrics.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, family := range families {
		names[family.GetName()] = true
		if strings.HasPrefix(family.GetName(), "go_godebug_") {
			t.Errorf("%s is there", family.GetName())
		}
	}
	for _, name := range []string{"go_goroutines", "go_gc_gomemlimit_bytes", "go_gc_gogc_percent", "process_resident_memory_bytes"} {
		if !names[name] {
			t.Errorf("%s is not there", name)
		}
	}
}
