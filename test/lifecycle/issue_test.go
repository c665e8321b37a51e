// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"os"
	"path/filepath"
	"time"

	"github.com/fairlead-dev/fairlead/test/framework"
)

// issued is a serving certificate with its key and its root, as PEM.
type issued struct{ cert, key, ca string }

func (i issued) files() map[string]string {
	return map[string]string{"tls.crt": i.cert, "tls.key": i.key, "ca.crt": i.ca}
}

// issue makes a certificate for the webhook Service that expires in a time, from a root of its own.
func (s *suite) issue(expires time.Duration) issued {
	s.Helper()
	return s.issueFor(expires, framework.ServerName)
}

func (s *suite) issueFor(expires time.Duration, name string) issued {
	s.Helper()
	files, err := framework.Issue(expires, name)
	s.Must(err)
	return issued{cert: files["tls.crt"], key: files["tls.key"], ca: files["ca.crt"]}
}

// folder makes one with files in it.
func (s *suite) folder(files map[string]string) string {
	s.Helper()
	path := s.TempDir()
	s.fill(path, files)
	return path
}

// fill writes files, tls.crt last: a pair is complete with it.
func (s *suite) fill(folder string, files map[string]string) {
	s.Helper()
	s.Must(os.MkdirAll(folder, 0o700))
	for _, name := range []string{"ca.crt", "tls.key", "tls.crt"} {
		if content, ok := files[name]; ok {
			s.Must(os.WriteFile(filepath.Join(folder, name), []byte(content), 0o600))
		}
	}
}
