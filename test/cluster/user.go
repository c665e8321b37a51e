// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
)

// User is a user the API server knows by a client certificate.
type User struct {
	// Name and Groups as RBAC sees them. Every user is in system:authenticated besides.
	Name   string
	Groups []string
	// Cert and Key, PEM.
	Cert, Key []byte
	// Kubeconfig is the path of a kubeconfig file that holds all of the above.
	Kubeconfig string
}

var unfitForFile = regexp.MustCompile(`[^A-Za-z0-9.-]+`)

// Kubeconfig is the path of the administrator's kubeconfig file (group system:masters).
func (c *Cluster) Kubeconfig() string { return c.Admin().Kubeconfig }

// Admin is the administrator, whom RBAC does not restrict.
func (c *Cluster) Admin() User {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.admin
}

// User makes a user of that name and those groups. It may do what RBAC grants it, which is little
// until a role is bound.
func (c *Cluster) User(name string, groups ...string) (User, error) {
	c.mu.Lock()
	c.users++
	file := fmt.Sprintf("%s-%d.kubeconfig", unfitForFile.ReplaceAllString(name, "-"), c.users)
	c.mu.Unlock()
	return c.newUser(filepath.Join(c.folder, file), name, groups)
}

// ServiceAccount makes a user that RBAC cannot tell from the pods of a ServiceAccount. The
// ServiceAccount need not exist.
func (c *Cluster) ServiceAccount(namespace, name string) (User, error) {
	return c.User("system:serviceaccount:"+namespace+":"+name,
		"system:serviceaccounts", "system:serviceaccounts:"+namespace)
}

func (c *Cluster) newUser(path, name string, groups []string) (User, error) {
	p, err := c.pki.ca.issueClient(name, groups)
	if err != nil {
		return User{}, fmt.Errorf("user %q: %w", name, err)
	}
	u := User{Name: name, Groups: slices.Clone(groups), Cert: p.cert, Key: p.key, Kubeconfig: path}
	if err := os.WriteFile(path, kubeconfig(c.URL(), c.pki.ca.pem, p, name), 0o600); err != nil {
		return User{}, fmt.Errorf("user %q: %w", name, err)
	}
	return u, nil
}

// kubeconfig is written by hand: five fields are no reason to depend on client-go.
func kubeconfig(url string, ca []byte, p pair, user string) []byte {
	encode := base64.StdEncoding.EncodeToString
	return fmt.Appendf(nil, `apiVersion: v1
kind: Config
current-context: local
clusters:
- name: local
  cluster:
    server: %q
    certificate-authority-data: %s
users:
- name: %[5]q
  user:
    client-certificate-data: %[3]s
    client-key-data: %[4]s
contexts:
- name: local
  context:
    cluster: local
    user: %[5]q
`, url, encode(ca), encode(p.cert), encode(p.key), user)
}
