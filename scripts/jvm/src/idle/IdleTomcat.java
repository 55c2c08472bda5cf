import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import org.apache.catalina.startup.Tomcat;

/** Tomcat with a servlet, as its manual starts it. */
public final class IdleTomcat {
    public static final class Page extends HttpServlet {
        @Override
        protected void doGet(HttpServletRequest request, HttpServletResponse response) throws IOException {
            response.getWriter().print("page");
        }
    }

    public static void main(String[] words) throws Exception {
        Tomcat tomcat = new Tomcat();
        tomcat.setBaseDir(words[0]);
        tomcat.setPort(0);
        var context = tomcat.addContext("", words[0]);
        Tomcat.addServlet(context, "page", new Page());
        context.addServletMappingDecoded("/", "page");
        tomcat.getConnector();
        tomcat.start();
        System.out.println("port " + tomcat.getConnector().getLocalPort());
        tomcat.getServer().await();
    }
}
