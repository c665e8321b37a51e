// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build nightly

package install

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fairlead-dev/fairlead/test/chart"
)

// To delete the one file at once takes the operator its rights while objects still have its finalizer: CRDs that do not end,
// which the guide calls ending badly. To apply the file again must then be enough: the operator lets go of what is being
// deleted, the CRDs go, and a third apply is a new installation.
func TestTheOneFileThatWasDeletedAtOnceIsAppliedAgain(t *testing.T) {
	s := newSuite(t)
	s.kubectl("create", "namespace", "shop")
	before := s.everything()
	file := filepath.Join(t.TempDir(), "install.yaml")
	s.writeManifests(file)
	apply := func() {
		s.Helper()
		s.eventually(func() error { // a namespace, or a CRD, that is being deleted refuses what is new in it
			_, err := s.tryKubectl("", "apply", "--server-side", "-f", file)
			return err
		})
	}

	apply()
	s.sound()
	s.apply(objects)
	s.hasObjects()
	var address string
	s.eventually(func() (err error) {
		address, err = s.tryKubectl("", "get", "service", "billing-db", "-n", "shop", "-o", "jsonpath={.spec.clusterIP}")
		return err
	})

	if _, err := s.tryKubectl("", "delete", "--ignore-not-found", "-f", file, "--timeout=20s"); err == nil {
		s.Log("the operator let go of its objects before it lost its rights")
	}
	s.eventually(func() error {
		_, err := s.tryKubectl("", "get", "namespace", "fairlead-system")
		if err == nil {
			return fmt.Errorf("the namespace is still there")
		}
		return nil
	})
	if deleted := s.kubectl("get", "crds", "externalservices.networking.fairlead.dev", "--ignore-not-found", "-o", "jsonpath={.metadata.deletionTimestamp}"); deleted != "" {
		switch got := s.kubectl("get", "service", "billing-db", "-n", "shop", "--ignore-not-found", "-o", "jsonpath={.spec.clusterIP}"); got {
		case address:
		case "": // the operator has let go of the object meanwhile
			s.eventually(func() error {
				if left, err := s.tryKubectl("", "get", "externalservice", "billing-db", "-n", "shop", "-o", "name"); err == nil {
					return fmt.Errorf("the Service of %s is gone", left)
				}
				return nil
			})
		default:
			t.Errorf("the Service, whose finalizer is not removed, has cluster IP %s, was %s", got, address)
		}
	}

	apply()
	s.eventually(func() error {
		if left := s.kubectl("get", "crds", "-o", "name"); strings.Contains(left, "fairlead.dev") {
			deleted := s.kubectl("get", "crds", "-o", "jsonpath={range .items[*]}{.metadata.name} {.metadata.deletionTimestamp} {.status.conditions[?(@.type==\"Terminating\")].message}{\"\\n\"}{end}")
			for line := range strings.Lines(deleted) {
				if fields := strings.Fields(line); len(fields) > 1 {
					return fmt.Errorf("there is left: %s", line)
				}
			}
		}
		return nil
	})
	apply()
	s.sound()
	s.apply(objects)
	s.hasObjects()

	guide := s.guide()
	s.run(guide["orphan"])
	// The garbage collector begins to watch a kind up to 30 s after its CRD is made, and without that never deletes the pod of
	// an object that went with the CRD.
	s.kubectl("delete", "chaospods", "--all", "-n", "shop")
	s.eventually(func() error {
		if pods := s.kubectl("get", "pods", "-n", "shop", "-o", "name"); pods != "" {
			return fmt.Errorf("there is left: %s", pods)
		}
		return nil
	})
	s.run(guide["order"][:1])
	s.kubectl("delete", "--ignore-not-found", "-f", file, "--timeout=2m")
	s.eventually(func() error { return s.onlyLeft(before, orphaned) })
}

// writeManifests writes what a release has as install.yaml.
func (s *suite) writeManifests(file string) {
	s.Helper()
	manifests, err := chart.Install(filepath.Join(root, "config"), "fairlead:"+current)
	s.must(err)
	changed, err := s.renderer("fairlead-system").Run(bytes.NewBuffer(manifests))
	s.must(err)
	s.must(os.WriteFile(file, changed.Bytes(), 0o600))
}
