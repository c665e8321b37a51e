// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package vet

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAConfigurationOfTheOperatorIsOneThatItStartsWith(t *testing.T) {
	objects, summary := run(t, text(`apiVersion: config.fairlead.dev/v1alpha1
kind: FairleadConfiguration
webhook:
  drainDelay: 60s
  port: 99999
---
apiVersion: config.fairlead.dev/v1alpha1
kind: FairleadConfiguration
logging: {levels: debug}
webhook: {drainDelay: soon}
---
apiVersion: config.fairlead.dev/v1
kind: FairleadConfiguration
---
apiVersion: v1
kind: ConfigMap
metadata: {name: fairlead-config}
data:
  other: text
  config.yaml: |
    apiVersion: config.fairlead.dev/v1alpha1
    kind: FairleadConfiguration
    webhook:
      prot: 1
---
apiVersion: v1
kind: ConfigMap
metadata: {name: another}
data: {config.yaml: "apiVersion: example.com/v1"}
---
apiVersion: config.fairlead.dev/v1alpha1
kind: FairleadConfiguration
kinds: [ExternalService]
`))
	want := []string{
		`1:1 error configuration gracefulShutdownTimeout: Invalid value: "1m5s": must not be less than webhook.drainDelay and webhook.drainTimeout together, 1m40s`,
		`5:3 error configuration webhook.port: Invalid value: 99999: must be from 0 to 65535`,
		`10:11 error configuration webhook.drainDelay: webhook.drainDelay: time: invalid duration "soon"`,
		`12:1 error configuration : configuration file config.fairlead.dev/v1: apiVersion "config.fairlead.dev/v1", kind "FairleadConfiguration": this version of fairlead reads apiVersion "config.fairlead.dev/v1alpha1", kind "FairleadConfiguration"`,
		`20:3 error configuration data[config.yaml]: configuration file config.yaml:4: unknown field "webhook.prot"`,
	}
	if diff := cmp.Diff(want, lines(objects)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if summary.Objects != 5 || summary.PassedOver != 1 {
		t.Errorf("%+v", summary)
	}
	shipped, _ := run(t, folder("../../../config"))
	if found := lines(shipped); len(found) > 0 {
		t.Errorf("what is shipped: %q", found)
	}
}
