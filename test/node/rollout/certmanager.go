// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
)

// CertManagerImage has the controllers of cert-manager.
const CertManagerImage = "docker.io/library/certmanager:e2e"

// certManager runs the controllers in a pod. Those of cert-manager's own chart have narrower rights.
const certManager = `---
apiVersion: v1
kind: Namespace
metadata: {name: cert-manager}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: cert-manager, namespace: cert-manager}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: cert-manager}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}
subjects: [{kind: ServiceAccount, name: cert-manager, namespace: cert-manager}]
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: cert-manager, namespace: cert-manager}
spec:
  selector: {matchLabels: {app: cert-manager}}
  template:
    metadata: {labels: {app: cert-manager}}
    spec:
      serviceAccountName: cert-manager
      containers:
      - name: controllers
        image: ` + CertManagerImage + `
        imagePullPolicy: Never
        args: [--health-bind-address=:8080, --cainjector=false]
        readinessProbe: {httpGet: {path: /readyz, port: 8080}, periodSeconds: 1}
`

// CertManager returns the manifests of cert-manager, with the CRDs of a folder.
func CertManager(crds string) ([]byte, error) {
	files, err := filepath.Glob(filepath.Join(crds, "*.yaml"))
	if err == nil && len(files) == 0 {
		err = fmt.Errorf("no CRD of cert-manager in %s", crds)
	}
	if err != nil {
		return nil, err
	}
	var all bytes.Buffer
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		all.WriteString("---\n")
		all.Write(content)
	}
	all.WriteString(certManager)
	return all.Bytes(), nil
}
