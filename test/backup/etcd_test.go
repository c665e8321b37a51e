// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package backup

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/fairlead-dev/fairlead/test/cluster"
)

// etcd is restored while a replica runs, which is restarted afterwards. What was done since then is undone, and not done again.
func TestEtcdIsRestored(t *testing.T) {
	t.Parallel()
	s := newSuite(t, openAnother(t, open(t).Servers))
	s.runs()
	s.makeWorld()
	snapshot := s.snapshot()
	templates, pods := s.templates(), s.pods()

	s.rotates("second")
	s.Kubectl("delete", "externalservice", "db", "--wait")
	s.Apply(strings.ReplaceAll(`{apiVersion: networking.fairlead.dev/v1, kind: ExternalService, metadata: {name: late},
		spec: {ports: [{name: sql, port: 5432}], endpoints: [{name: a, addresses: [ADDRESS]}]}}`, "ADDRESS", s.database))
	s.Eventually(func() error {
		if len(s.published("late")) == 0 {
			return fmt.Errorf("late is not published")
		}
		return nil
	})

	s.rewind(snapshot)
	s.Renew(nil)
	s.isSound()
	s.stays(templates, pods)
	if err := s.Get("late", &corev1.Service{}); !apierrors.IsNotFound(err) {
		t.Errorf("the Service of an object that does not exist any more: %v", err)
	}
	s.rotates("third")
}

// etcd is the folder of its data.
func (s *suite) etcd() string { return filepath.Join(s.Folder(), "etcd") }

// snapshot stops etcd, copies its data, and starts it again.
func (s *suite) snapshot() (folder string) {
	s.Helper()
	folder = filepath.Join(s.TempDir(), "etcd")
	s.Component(cluster.Etcd).Stop()
	s.Must(os.CopyFS(folder, os.DirFS(s.etcd())))
	s.Must(s.Component(cluster.Etcd).Start(s.Context()))
	s.Must(s.Reachable(s.Context()))
	return folder
}

// rewind has etcd hold what a snapshot holds, while no API server runs. The others are restarted, since they watch too.
func (s *suite) rewind(snapshot string) {
	s.Helper()
	s.Component(cluster.APIServer).Stop()
	s.Component(cluster.Etcd).Stop()
	s.Must(os.RemoveAll(s.etcd()))
	s.Must(os.CopyFS(s.etcd(), os.DirFS(snapshot)))
	s.Must(s.Component(cluster.Etcd).Start(s.Context()))
	s.Must(s.Component(cluster.APIServer).Start(s.Context()))
	for _, name := range []string{cluster.ControllerManager, cluster.Scheduler, cluster.Kwok} {
		s.Must(s.Component(name).Restart(s.Context()))
	}
}
